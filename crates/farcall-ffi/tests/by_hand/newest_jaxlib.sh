#!/bin/sh
# Runs tests/python in jaxlib 0.12 (FFI 0.5), which needs Python 3.12 or later, in a Debian of its own, with
# the library as it was built here. By hand, as root, with debootstrap installed:
#
#   cargo build -p jax-ffi-ops
#   crates/farcall-ffi/tests/by_hand/newest_jaxlib.sh target/debug/libjax_ffi_ops.so [FOLDER [MIRROR]]
#
# FOLDER (target/trixie) is kept for the next time. This machine's certificates and pip settings (PIP_*
# variables) are used inside.
set -eu
library=$(realpath "$1")
folder=${2:-target/trixie}
mirror=${3:-http://deb.debian.org/debian}
tests=$(realpath "$(dirname "$0")/../python")
certificates=/etc/ssl/certs/ca-certificates.crt

inside() {
    env -i $(env | grep -E '^(PIP_[A-Z_]*|[a-zA-Z]*_(proxy|PROXY))=' | grep -v -E '^PIP_(FIND_LINKS|CERT)=') \
        HOME=/root PATH=/usr/bin:/bin PIP_CERT=$certificates SSL_CERT_FILE=$certificates \
        "$(command -v chroot)" "$folder" "$@"
}

if [ ! -e "$folder/complete" ]; then
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates trixie "$folder" "$mirror"
    cp "$certificates" "$folder$certificates"
    cp /etc/resolv.conf "$folder/etc/resolv.conf"
    cp /etc/hosts "$folder/etc/hosts"
    inside python3 -m venv /venv
    inside /venv/bin/pip install --quiet jax==0.12.0 jaxlib==0.12.0 numpy pytest
    touch "$folder/complete"
fi
rm -rf "$folder/test"
mkdir "$folder/test"
cp "$library" "$folder/test/library.so"
cp "$tests"/*.py "$folder/test"
inside /usr/bin/env FARCALL_JAX_FFI_LIB=/test/library.so JAX_PLATFORMS=cpu \
    /venv/bin/python -m pytest -q -p no:cacheprovider /test
