// Eigenvectors and eigenvalues of a batch of Hermitian matrices, by Jacobi rotations. A matrix is given by the
// lower triangle of the operand ($triangle = GE) or by the upper triangle (LE).
func.func private @eigh(%matrices: tensor<$A>) -> (tensor<$C>, tensor<$D>) {
  %a = stablehlo.reshape %matrices : (tensor<$A>) -> tensor<$bx$nx$nx$t>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<$n> : tensor<i32>
  %sweeps = stablehlo.constant dense<$sweeps> : tensor<i32>
  %nought = stablehlo.constant dense<0.0> : tensor<$r>
  %noughts = stablehlo.constant dense<0.0> : tensor<$bx$nx$nx$r>
  %each_nought = stablehlo.constant dense<0.0> : tensor<$bx$r>
  %each_one = stablehlo.constant dense<1.0> : tensor<$bx$r>
  %each_two = stablehlo.constant dense<2.0> : tensor<$bx$r>
  %epsilon = stablehlo.constant dense<$epsilon> : tensor<$bx$r>
  %i = stablehlo.iota dim = 1 : tensor<$bx$nx$nxi32>
  %c = stablehlo.iota dim = 2 : tensor<$bx$nx$nxi32>
  %is_kept = stablehlo.compare $triangle, %i, %c : (tensor<$bx$nx$nxi32>, tensor<$bx$nx$nxi32>) -> tensor<$bx$nx$nxi1>
  %is_diagonal = stablehlo.compare EQ, %i, %c : (tensor<$bx$nx$nxi32>, tensor<$bx$nx$nxi32>) -> tensor<$bx$nx$nxi1>
  %turned = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<$bx$nx$nx$t>) -> tensor<$bx$nx$nx$t>
  %mirrored = chlo.conj %turned : tensor<$bx$nx$nx$t> -> tensor<$bx$nx$nx$t>
  %halves = stablehlo.select %is_kept, %a, %mirrored : tensor<$bx$nx$nxi1>, tensor<$bx$nx$nx$t>
  %real_part = stablehlo.real %a : (tensor<$bx$nx$nx$t>) -> tensor<$bx$nx$nx$r>
  %real = stablehlo.convert %real_part : (tensor<$bx$nx$nx$r>) -> tensor<$bx$nx$nx$t>
  %symmetric = stablehlo.select %is_diagonal, %real, %halves : tensor<$bx$nx$nxi1>, tensor<$bx$nx$nx$t>
  %identity = stablehlo.convert %is_diagonal : (tensor<$bx$nx$nxi1>) -> tensor<$bx$nx$nx$t>
  %all_sizes = stablehlo.abs %symmetric : (tensor<$bx$nx$nx$t>) -> tensor<$bx$nx$nx$r>
  %all_squares = stablehlo.multiply %all_sizes, %all_sizes : tensor<$bx$nx$nx$r>
  %total = stablehlo.reduce(%all_squares init: %nought) applies stablehlo.add across dimensions = [1, 2] : (tensor<$bx$nx$nx$r>, tensor<$r>) -> tensor<$bx$r>
  %limit = stablehlo.multiply %total, %epsilon : tensor<$bx$r>
  %r:3 = stablehlo.while(%sweep = %zero, %x = %symmetric, %v = %identity) : tensor<i32>, tensor<$bx$nx$nx$t>, tensor<$bx$nx$nx$t>
  cond {
    %sizes = stablehlo.abs %x : (tensor<$bx$nx$nx$t>) -> tensor<$bx$nx$nx$r>
    %squares = stablehlo.multiply %sizes, %sizes : tensor<$bx$nx$nx$r>
    %off = stablehlo.select %is_diagonal, %noughts, %squares : tensor<$bx$nx$nxi1>, tensor<$bx$nx$nx$r>
    %size = stablehlo.reduce(%off init: %nought) applies stablehlo.add across dimensions = [1, 2] : (tensor<$bx$nx$nx$r>, tensor<$r>) -> tensor<$bx$r>
    %is_large = stablehlo.compare GT, %size, %limit : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
    %no = stablehlo.constant dense<false> : tensor<i1>
    %any = stablehlo.reduce(%is_large init: %no) applies stablehlo.or across dimensions = [0] : (tensor<$bxi1>, tensor<i1>) -> tensor<i1>
    %more = stablehlo.compare LT, %sweep, %sweeps : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %go = stablehlo.and %any, %more : tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %s:4 = stablehlo.while(%p = %zero, %q = %one, %y = %x, %w = %v) : tensor<i32>, tensor<i32>, tensor<$bx$nx$nx$t>, tensor<$bx$nx$nx$t>
    cond {
      %go = stablehlo.compare LT, %q, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %pp1 = stablehlo.dynamic_slice %y, %zero, %p, %p, sizes = [$b, 1, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx1x1x$t>
      %pq1 = stablehlo.dynamic_slice %y, %zero, %p, %q, sizes = [$b, 1, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx1x1x$t>
      %qq1 = stablehlo.dynamic_slice %y, %zero, %q, %q, sizes = [$b, 1, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx1x1x$t>
      %pp_real = stablehlo.real %pp1 : (tensor<$bx1x1x$t>) -> tensor<$bx1x1x$r>
      %qq_real = stablehlo.real %qq1 : (tensor<$bx1x1x$t>) -> tensor<$bx1x1x$r>
      %pp = stablehlo.reshape %pp_real : (tensor<$bx1x1x$r>) -> tensor<$bx$r>
      %pq = stablehlo.reshape %pq1 : (tensor<$bx1x1x$t>) -> tensor<$bx$t>
      %qq = stablehlo.reshape %qq_real : (tensor<$bx1x1x$r>) -> tensor<$bx$r>
      %pq_size = stablehlo.abs %pq : (tensor<$bx$t>) -> tensor<$bx$r>
      %is_nought = stablehlo.compare EQ, %pq_size, %each_nought : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
      %divisor = stablehlo.select %is_nought, %each_one, %pq_size : tensor<$bxi1>, tensor<$bx$r>
      %phase_divisor = stablehlo.convert %divisor : (tensor<$bx$r>) -> tensor<$bx$t>
      %phase = stablehlo.divide %pq, %phase_divisor : tensor<$bx$t>
      %difference = stablehlo.subtract %qq, %pp : tensor<$bx$r>
      %double = stablehlo.multiply %each_two, %divisor : tensor<$bx$r>
      %cotangent = stablehlo.divide %difference, %double : tensor<$bx$r>
      %size = stablehlo.abs %cotangent : tensor<$bx$r>
      %square = stablehlo.multiply %cotangent, %cotangent : tensor<$bx$r>
      %square_1 = stablehlo.add %square, %each_one : tensor<$bx$r>
      %hypotenuse = stablehlo.sqrt %square_1 : tensor<$bx$r>
      %sum = stablehlo.add %size, %hypotenuse : tensor<$bx$r>
      %small = stablehlo.divide %each_one, %sum : tensor<$bx$r>
      %opposite = stablehlo.negate %small : tensor<$bx$r>
      %is_positive = stablehlo.compare GE, %cotangent, %each_nought : (tensor<$bx$r>, tensor<$bx$r>) -> tensor<$bxi1>
      %signed = stablehlo.select %is_positive, %small, %opposite : tensor<$bxi1>, tensor<$bx$r>
      %tangent = stablehlo.select %is_nought, %each_nought, %signed : tensor<$bxi1>, tensor<$bx$r>
      %tangent_square = stablehlo.multiply %tangent, %tangent : tensor<$bx$r>
      %secant_square = stablehlo.add %tangent_square, %each_one : tensor<$bx$r>
      %real_cosine = stablehlo.rsqrt %secant_square : tensor<$bx$r>
      %real_sine = stablehlo.multiply %tangent, %real_cosine : tensor<$bx$r>
      %cosine = stablehlo.convert %real_cosine : (tensor<$bx$r>) -> tensor<$bx$t>
      %sine_size = stablehlo.convert %real_sine : (tensor<$bx$r>) -> tensor<$bx$t>
      %sine = stablehlo.multiply %sine_size, %phase : tensor<$bx$t>
      %cos = stablehlo.broadcast_in_dim %cosine, dims = [0] : (tensor<$bx$t>) -> tensor<$bx1x$nx$t>
      %sin = stablehlo.broadcast_in_dim %sine, dims = [0] : (tensor<$bx$t>) -> tensor<$bx1x$nx$t>
      %sin_adjoint = chlo.conj %sin : tensor<$bx1x$nx$t> -> tensor<$bx1x$nx$t>
      %row_p = stablehlo.dynamic_slice %y, %zero, %p, %zero, sizes = [$b, 1, $n] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx1x$nx$t>
      %row_q = stablehlo.dynamic_slice %y, %zero, %q, %zero, sizes = [$b, 1, $n] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx1x$nx$t>
      %row_pc = stablehlo.multiply %row_p, %cos : tensor<$bx1x$nx$t>
      %row_qs = stablehlo.multiply %row_q, %sin : tensor<$bx1x$nx$t>
      %row_ps = stablehlo.multiply %row_p, %sin_adjoint : tensor<$bx1x$nx$t>
      %row_qc = stablehlo.multiply %row_q, %cos : tensor<$bx1x$nx$t>
      %new_row_p = stablehlo.subtract %row_pc, %row_qs : tensor<$bx1x$nx$t>
      %new_row_q = stablehlo.add %row_ps, %row_qc : tensor<$bx1x$nx$t>
      %y1 = stablehlo.dynamic_update_slice %y, %new_row_p, %zero, %p, %zero : (tensor<$bx$nx$nx$t>, tensor<$bx1x$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx$nx$t>
      %y2 = stablehlo.dynamic_update_slice %y1, %new_row_q, %zero, %q, %zero : (tensor<$bx$nx$nx$t>, tensor<$bx1x$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx$nx$t>
      %cos_column = stablehlo.reshape %cos : (tensor<$bx1x$nx$t>) -> tensor<$bx$nx1x$t>
      %sin_column = stablehlo.reshape %sin : (tensor<$bx1x$nx$t>) -> tensor<$bx$nx1x$t>
      %sin_column_adjoint = stablehlo.reshape %sin_adjoint : (tensor<$bx1x$nx$t>) -> tensor<$bx$nx1x$t>
      %column_p = stablehlo.dynamic_slice %y2, %zero, %zero, %p, sizes = [$b, $n, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx1x$t>
      %column_q = stablehlo.dynamic_slice %y2, %zero, %zero, %q, sizes = [$b, $n, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx1x$t>
      %column_pc = stablehlo.multiply %column_p, %cos_column : tensor<$bx$nx1x$t>
      %column_qs = stablehlo.multiply %column_q, %sin_column_adjoint : tensor<$bx$nx1x$t>
      %column_ps = stablehlo.multiply %column_p, %sin_column : tensor<$bx$nx1x$t>
      %column_qc = stablehlo.multiply %column_q, %cos_column : tensor<$bx$nx1x$t>
      %new_column_p = stablehlo.subtract %column_pc, %column_qs : tensor<$bx$nx1x$t>
      %new_column_q = stablehlo.add %column_ps, %column_qc : tensor<$bx$nx1x$t>
      %y3 = stablehlo.dynamic_update_slice %y2, %new_column_p, %zero, %zero, %p : (tensor<$bx$nx$nx$t>, tensor<$bx$nx1x$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx$nx$t>
      %y4 = stablehlo.dynamic_update_slice %y3, %new_column_q, %zero, %zero, %q : (tensor<$bx$nx$nx$t>, tensor<$bx$nx1x$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx$nx$t>
      %vector_p = stablehlo.dynamic_slice %w, %zero, %zero, %p, sizes = [$b, $n, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx1x$t>
      %vector_q = stablehlo.dynamic_slice %w, %zero, %zero, %q, sizes = [$b, $n, 1] : (tensor<$bx$nx$nx$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx1x$t>
      %vector_pc = stablehlo.multiply %vector_p, %cos_column : tensor<$bx$nx1x$t>
      %vector_qs = stablehlo.multiply %vector_q, %sin_column_adjoint : tensor<$bx$nx1x$t>
      %vector_ps = stablehlo.multiply %vector_p, %sin_column : tensor<$bx$nx1x$t>
      %vector_qc = stablehlo.multiply %vector_q, %cos_column : tensor<$bx$nx1x$t>
      %new_vector_p = stablehlo.subtract %vector_pc, %vector_qs : tensor<$bx$nx1x$t>
      %new_vector_q = stablehlo.add %vector_ps, %vector_qc : tensor<$bx$nx1x$t>
      %w1 = stablehlo.dynamic_update_slice %w, %new_vector_p, %zero, %zero, %p : (tensor<$bx$nx$nx$t>, tensor<$bx$nx1x$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx$nx$t>
      %w2 = stablehlo.dynamic_update_slice %w1, %new_vector_q, %zero, %zero, %q : (tensor<$bx$nx$nx$t>, tensor<$bx$nx1x$t>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<$bx$nx$nx$t>
      // Next pair: q counts up from p + 1, then p advances. After the last pair, q stays at the end.
      %q1 = stablehlo.add %q, %one : tensor<i32>
      %is_last = stablehlo.compare GE, %q1, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %p1 = stablehlo.add %p, %one : tensor<i32>
      %p2 = stablehlo.add %p1, %one : tensor<i32>
      %next_p = stablehlo.select %is_last, %p1, %p : tensor<i1>, tensor<i32>
      %next_q = stablehlo.select %is_last, %p2, %q1 : tensor<i1>, tensor<i32>
      stablehlo.return %next_p, %next_q, %y4, %w2 : tensor<i32>, tensor<i32>, tensor<$bx$nx$nx$t>, tensor<$bx$nx$nx$t>
    }
    %next = stablehlo.add %sweep, %one : tensor<i32>
    stablehlo.return %next, %s#2, %s#3 : tensor<i32>, tensor<$bx$nx$nx$t>, tensor<$bx$nx$nx$t>
  }
  %real_parts = stablehlo.real %r#1 : (tensor<$bx$nx$nx$t>) -> tensor<$bx$nx$nx$r>
  %diagonal = stablehlo.select %is_diagonal, %real_parts, %noughts : tensor<$bx$nx$nxi1>, tensor<$bx$nx$nx$r>
  %values = stablehlo.reduce(%diagonal init: %nought) applies stablehlo.add across dimensions = [2] : (tensor<$bx$nx$nx$r>, tensor<$r>) -> tensor<$bx$nx$r>
  %places = stablehlo.iota dim = 1 : tensor<$bx$nxi32>
  %sorted:2 = "stablehlo.sort"(%values, %places) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<$r>, %g: tensor<$r>, %lp: tensor<i32>, %gp: tensor<i32>):
    %less = stablehlo.compare LT, %l, %g, TOTALORDER : (tensor<$r>, tensor<$r>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<$bx$nx$r>, tensor<$bx$nxi32>) -> (tensor<$bx$nx$r>, tensor<$bx$nxi32>)
  %wanted = stablehlo.broadcast_in_dim %sorted#1, dims = [0, 2] : (tensor<$bx$nxi32>) -> tensor<$bx$nx$nxi32>
  %is_wanted = stablehlo.compare EQ, %i, %wanted : (tensor<$bx$nx$nxi32>, tensor<$bx$nx$nxi32>) -> tensor<$bx$nx$nxi1>
  %order = stablehlo.convert %is_wanted : (tensor<$bx$nx$nxi1>) -> tensor<$bx$nx$nx$t>
  %vectors = stablehlo.dot_general %r#2, %order, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<$bx$nx$nx$t>, tensor<$bx$nx$nx$t>) -> tensor<$bx$nx$nx$t>
  %v = stablehlo.reshape %vectors : (tensor<$bx$nx$nx$t>) -> tensor<$C>
  %w = stablehlo.reshape %sorted#0 : (tensor<$bx$nx$r>) -> tensor<$D>
  return %v, %w : tensor<$C>, tensor<$D>
}
