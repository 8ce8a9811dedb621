// Householder's QR factorization of a batch of matrices, as computed by LAPACK's `geqrf`. The first result
// has R on and above the diagonal, and below it the reflectors, whose first element is 1. The second result has
// the scales of the reflectors.
func.func private @qr(%matrices: tensor<$A>) -> (tensor<$C>, tensor<$D>) {
  %a = stablehlo.reshape %matrices : (tensor<$A>) -> tensor<$bx$mx$nx$t>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<$k> : tensor<i32>
  %nought = stablehlo.constant dense<$zero> : tensor<$t>
  %real_nought = stablehlo.constant dense<0.0> : tensor<$r>
  %noughts = stablehlo.constant dense<$zero> : tensor<$bx$mx$t>
  %real_noughts = stablehlo.constant dense<0.0> : tensor<$bx$mx$r>
  %ones = stablehlo.constant dense<$one> : tensor<$bx$mx$t>
  %row_noughts = stablehlo.constant dense<$zero> : tensor<$bx$nx$t>
  %each_nought = stablehlo.constant dense<$zero> : tensor<$bx$t>
  %each_real_nought = stablehlo.constant dense<0.0> : tensor<$bx$r>
  %each_one = stablehlo.constant dense<$one> : tensor<$bx$t>
  %each_real_one = stablehlo.constant dense<1.0> : tensor<$bx$r>
  %no_taus = stablehlo.constant dense<$zero> : tensor<$bx$kx$t>
  %rows = stablehlo.iota dim = 1 : tensor<$bx$mxi32>
  %columns = stablehlo.iota dim = 1 : tensor<$bx$nxi32>
  %r:3 = stablehlo.while(%j = %zero, %x = %a, %taus = %no_taus) : tensor<i32>, tensor<$bx$mx$nx$t>, tensor<$bx$kx$t>
  cond {
    %go = stablehlo.compare LT, %j, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %zero, %zero, %j, sizes = [$b, $m, 1] : (tensor<$bx$mx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$mx1x$t>
    %column = stablehlo.reshape %slice : (tensor<$bx$mx1x$t>) -> tensor<$bx$mx$t>
    %place = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<$bx$mxi32>
    %is_at = stablehlo.compare EQ, %rows, %place : (tensor<$bx$mxi32>, tensor<$bx$mxi32>) -> tensor<$bx$mxi1>
    %is_below = stablehlo.compare GT, %rows, %place : (tensor<$bx$mxi32>, tensor<$bx$mxi32>) -> tensor<$bx$mxi1>
    %at = stablehlo.select %is_at, %column, %noughts : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    %alpha = stablehlo.reduce(%at init: %nought) applies stablehlo.add across dimensions = [1] : (tensor<$bx$mx$t>, tensor<$t>) -> tensor<$bx$t>
    %below = stablehlo.select %is_below, %column, %noughts : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    // Divide by the largest element, so that no square overflows.
    %sizes = stablehlo.abs %column : (tensor<$bx$mx$t>) -> tensor<$bx$mx$r>
    %is_above = stablehlo.compare LT, %rows, %place : (tensor<$bx$mxi32>, tensor<$bx$mxi32>) -> tensor<$bx$mxi1>
    %from = stablehlo.select %is_above, %real_noughts, %sizes : tensor<$bx$mxi1>, tensor<$bx$mx$r>
    %largest = stablehlo.reduce(%from init: %real_nought) applies stablehlo.maximum across dimensions = [1] : (tensor<$bx$mx$r>, tensor<$r>) -> tensor<$bx$r>
    %is_nought = stablehlo.compare EQ, %largest, %each_real_nought : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
    %unit = stablehlo.select %is_nought, %each_real_one, %largest : tensor<$bxi1>, tensor<$bx$r>
    %units = stablehlo.broadcast_in_dim %unit, dims = [0] : (tensor<$bx$r>) -> tensor<$bx$mx$r>
    %below_sizes = stablehlo.select %is_below, %sizes, %real_noughts : tensor<$bx$mxi1>, tensor<$bx$mx$r>
    %scaled = stablehlo.divide %below_sizes, %units : tensor<$bx$mx$r>
    %squares = stablehlo.multiply %scaled, %scaled : tensor<$bx$mx$r>
    %sigma = stablehlo.reduce(%squares init: %real_nought) applies stablehlo.add across dimensions = [1] : (tensor<$bx$mx$r>, tensor<$r>) -> tensor<$bx$r>
    %alpha_size = stablehlo.abs %alpha : (tensor<$bx$t>) -> tensor<$bx$r>
    %first = stablehlo.divide %alpha_size, %unit : tensor<$bx$r>
    %first_square = stablehlo.multiply %first, %first : tensor<$bx$r>
    %sum = stablehlo.add %first_square, %sigma : tensor<$bx$r>
    %root = stablehlo.sqrt %sum : tensor<$bx$r>
    %norm = stablehlo.multiply %root, %unit : tensor<$bx$r>
    %negative = stablehlo.negate %norm : tensor<$bx$r>
    %alpha_real = stablehlo.real %alpha : (tensor<$bx$t>) -> tensor<$bx$r>
    %alpha_imaginary = stablehlo.imag %alpha : (tensor<$bx$t>) -> tensor<$bx$r>
    %is_positive = stablehlo.compare GE, %alpha_real, %each_real_nought : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
    %real_beta = stablehlo.select %is_positive, %negative, %norm : tensor<$bxi1>, tensor<$bx$r>
    %beta = stablehlo.convert %real_beta : (tensor<$bx$r>) -> tensor<$bx$t>
    // A reflection is needed unless the column is already a real multiple of the first unit vector.
    %is_short = stablehlo.compare EQ, %sigma, %each_real_nought : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
    %is_real = stablehlo.compare EQ, %alpha_imaginary, %each_real_nought : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
    %is_done = stablehlo.and %is_short, %is_real : tensor<$bxi1>
    %difference = stablehlo.subtract %beta, %alpha : tensor<$bx$t>
    %quotient = stablehlo.divide %difference, %beta : tensor<$bx$t>
    %tau = stablehlo.select %is_done, %each_nought, %quotient : tensor<$bxi1>, tensor<$bx$t>
    %back = stablehlo.negate %difference : tensor<$bx$t>
    %divisor = stablehlo.select %is_done, %each_one, %back : tensor<$bxi1>, tensor<$bx$t>
    %divisors = stablehlo.broadcast_in_dim %divisor, dims = [0] : (tensor<$bx$t>) -> tensor<$bx$mx$t>
    %tail = stablehlo.divide %below, %divisors : tensor<$bx$mx$t>
    %v = stablehlo.select %is_at, %ones, %tail : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    %conjugate = chlo.conj %v : tensor<$bx$mx$t> -> tensor<$bx$mx$t>
    %products = stablehlo.dot_general %conjugate, %x, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<$bx$mx$t>, tensor<$bx$mx$nx$t>) -> tensor<$bx$nx$t>
    %column_place = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<$bx$nxi32>
    %is_right = stablehlo.compare GT, %columns, %column_place : (tensor<$bx$nxi32>, tensor<$bx$nxi32>) -> tensor<$bx$nxi1>
    %right = stablehlo.select %is_right, %products, %row_noughts : tensor<$bx$nxi1>, tensor<$bx$nx$t>
    %adjoint_tau = chlo.conj %tau : tensor<$bx$t> -> tensor<$bx$t>
    %tau_rows = stablehlo.broadcast_in_dim %adjoint_tau, dims = [0] : (tensor<$bx$t>) -> tensor<$bx$mx$t>
    %tau_v = stablehlo.multiply %tau_rows, %v : tensor<$bx$mx$t>
    %update = stablehlo.dot_general %tau_v, %right, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<$bx$mx$t>, tensor<$bx$nx$t>) -> tensor<$bx$mx$nx$t>
    %reflected = stablehlo.subtract %x, %update : tensor<$bx$mx$nx$t>
    %diagonal = stablehlo.select %is_done, %alpha, %beta : tensor<$bxi1>, tensor<$bx$t>
    %diagonals = stablehlo.broadcast_in_dim %diagonal, dims = [0] : (tensor<$bx$t>) -> tensor<$bx$mx$t>
    %lower = stablehlo.select %is_below, %v, %column : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    %new = stablehlo.select %is_at, %diagonals, %lower : tensor<$bx$mxi1>, tensor<$bx$mx$t>
    %new_column = stablehlo.reshape %new : (tensor<$bx$mx$t>) -> tensor<$bx$mx1x$t>
    %y = stablehlo.dynamic_update_slice %reflected, %new_column, %zero, %zero, %j : (tensor<$bx$mx$nx$t>, tensor<$bx$mx1x$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$mx$nx$t>
    %new_tau = stablehlo.reshape %tau : (tensor<$bx$t>) -> tensor<$bx1x$t>
    %new_taus = stablehlo.dynamic_update_slice %taus, %new_tau, %zero, %j : (tensor<$bx$kx$t>, tensor<$bx1x$t>, tensor<i32>, tensor<i32>) -> tensor<$bx$kx$t>
    %next = stablehlo.add %j, %one : tensor<i32>
    stablehlo.return %next, %y, %new_taus : tensor<i32>, tensor<$bx$mx$nx$t>, tensor<$bx$kx$t>
  }
  %packed = stablehlo.reshape %r#1 : (tensor<$bx$mx$nx$t>) -> tensor<$C>
  %scales = stablehlo.reshape %r#2 : (tensor<$bx$kx$t>) -> tensor<$D>
  return %packed, %scales : tensor<$C>, tensor<$D>
}
