// The first columns of the product of Householder reflectors, as computed by LAPACK's `orgqr`. The operand is a
// batch of matrices with the reflectors below their diagonals.
func.func private @householder(%matrices: tensor<$A>, %scales: tensor<$B>) -> tensor<$C> {
  %a = stablehlo.reshape %matrices : (tensor<$A>) -> tensor<$bx$mx$nx$t>
  %taus = stablehlo.reshape %scales : (tensor<$B>) -> tensor<$bx$kx$t>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<$l> : tensor<i32>
  %noughts = stablehlo.constant dense<$zero> : tensor<$bx$mx$t>
  %ones = stablehlo.constant dense<$one> : tensor<$bx$mx$t>
  %rows = stablehlo.iota dim = 1 : tensor<$bx$mxi32>
  %i = stablehlo.iota dim = 1 : tensor<$bx$mx$nxi32>
  %c = stablehlo.iota dim = 2 : tensor<$bx$mx$nxi32>
  %is_diagonal = stablehlo.compare EQ, %i, %c : (tensor<$bx$mx$nxi32>, tensor<$bx$mx$nxi32>) -> tensor<$bx$mx$nxi1>
  %identity = stablehlo.convert %is_diagonal : (tensor<$bx$mx$nxi1>) -> tensor<$bx$mx$nx$t>
  %r:2 = stablehlo.while(%j = %last, %q = %identity) : tensor<i32>, tensor<$bx$mx$nx$t>
  cond {
    %go = stablehlo.compare GE, %j, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %a, %zero, %zero, %j, sizes = [$b, $m, 1] : (tensor<$bx$mx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$mx1x$t>
    %column = stablehlo.reshape %slice : (tensor<$bx$mx1x$t>) -> tensor<$bx$mx$t>
    %place = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<$bx$mxi32>
    %is_at = stablehlo.compare EQ, %rows, %place : (tensor<$bx$mxi32>, tensor<$bx$mxi32>) -> tensor<$bx$mxi1>
    %is_below = stablehlo.compare GT, %rows, %place : (tensor<$bx$mxi32>, tensor<$bx$mxi32>) -> tensor<$bx$mxi1>
    %below = stablehlo.select %is_below, %column, %noughts : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    %v = stablehlo.select %is_at, %ones, %below : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    %tau_slice = stablehlo.dynamic_slice %taus, %zero, %j, sizes = [$b, 1] : (tensor<$bx$kx$t>, tensor<i32>, tensor<i32>) -> tensor<$bx1x$t>
    %tau = stablehlo.reshape %tau_slice : (tensor<$bx1x$t>) -> tensor<$bx$t>
    %tau_rows = stablehlo.broadcast_in_dim %tau, dims = [0] : (tensor<$bx$t>) -> tensor<$bx$mx$t>
    %tau_v = stablehlo.multiply %tau_rows, %v : tensor<$bx$mx$t>
    %conjugate = chlo.conj %v : tensor<$bx$mx$t> -> tensor<$bx$mx$t>
    %products = stablehlo.dot_general %conjugate, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<$bx$mx$t>, tensor<$bx$mx$nx$t>) -> tensor<$bx$nx$t>
    %update = stablehlo.dot_general %tau_v, %products, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<$bx$mx$t>, tensor<$bx$nx$t>) -> tensor<$bx$mx$nx$t>
    %p = stablehlo.subtract %q, %update : tensor<$bx$mx$nx$t>
    %next = stablehlo.subtract %j, %one : tensor<i32>
    stablehlo.return %next, %p : tensor<i32>, tensor<$bx$mx$nx$t>
  }
  %result = stablehlo.reshape %r#1 : (tensor<$bx$mx$nx$t>) -> tensor<$C>
  return %result : tensor<$C>
}
