"""Training and sampling programs in the style of their libraries' examples, with small generated data.

The part of a file's name before the first underscore is the library.
"""
