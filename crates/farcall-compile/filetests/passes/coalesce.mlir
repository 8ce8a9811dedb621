// passes: copies, coalesce
// The body writes what the next iteration reads: nothing is copied at its end.
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %a : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = farcall.copy %c : tensor<i32>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:2 = "stablehlo.while"(%0, %1, %arg0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<i32>):
      %3 = stablehlo.compare LT, %iterArg, %iterArg_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<i32>):
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %4 = stablehlo.sine %iterArg_0 : tensor<4xf32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<4xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<4xf32>, tensor<i32>) -> (tensor<i32>, tensor<4xf32>)
    return %2#1 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// The old value is read after the new one is there: the copy stays.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = stablehlo.while(%p = %n, %a = %x) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = stablehlo.sine %a : tensor<4xf32>
      %2 = stablehlo.compare LT, %a, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %3 = stablehlo.slice %2 [0:1] : (tensor<4xi1>) -> tensor<1xi1>
      %4 = stablehlo.reshape %3 : (tensor<1xi1>) -> tensor<i1>
      %5 = stablehlo.not %4 : tensor<i1>
      %6 = stablehlo.and %5, %4 : tensor<i1>
      stablehlo.return %6, %1 : tensor<i1>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %3 = stablehlo.sine %iterArg_0 : tensor<4xf32>
      %4 = stablehlo.compare LT, %iterArg_0, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %5 = stablehlo.slice %4 [0:1] : (tensor<4xi1>) -> tensor<1xi1>
      %6 = stablehlo.reshape %5 : (tensor<1xi1>) -> tensor<i1>
      %7 = stablehlo.not %6 : tensor<i1>
      %8 = stablehlo.and %7, %6 : tensor<i1>
      %9 = farcall.copy %3 : tensor<4xf32>
      stablehlo.return %8, %9 : tensor<i1>, tensor<4xf32>
    }
    return %2#1 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// No kernel of `reverse` works in place: the copy stays.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:2 = stablehlo.while(%p = %n, %a = %x) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
      stablehlo.return %f, %1 : tensor<i1>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %3 = stablehlo.reverse %iterArg_0, dims = [0] : tensor<4xf32>
      %c_1 = stablehlo.constant dense<false> : tensor<i1>
      %4 = farcall.copy %c_1 : tensor<i1>
      %5 = farcall.copy %3 : tensor<4xf32>
      stablehlo.return %4, %5 : tensor<i1>, tensor<4xf32>
    }
    return %2#1 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// A swap: of the two saved values, the one that is copied last can be saved where it belongs.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:3 = stablehlo.while(%p = %n, %a = %x, %b = %y) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %f, %b, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2 = farcall.copy %arg2 : tensor<4xf32>
    %3:3 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1, %iterArg_1 = %2) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %4 = farcall.copy %iterArg_1 : tensor<4xf32>
      %5 = farcall.copy %iterArg_0 : tensor<4xf32>
      %6 = farcall.copy %c_2 : tensor<i1>
      %7 = farcall.copy %4 : tensor<4xf32>
      stablehlo.return %6, %7, %5 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    return %3#1, %3#2 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// A value that a branch returns twice is written to one place and copied to the other. What comes from outside is copied.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
  }, {
    %1 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %1, %x : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = "stablehlo.if"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<4xf32>):
      %1 = stablehlo.sine %arg2 : tensor<4xf32>
      %2 = farcall.copy %1 : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<4xf32>, tensor<4xf32>
    }, {
    ^bb0(%arg2: tensor<4xf32>):
      %1 = stablehlo.cosine %arg2 : tensor<4xf32>
      %2 = farcall.copy %arg2 : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<4xf32>, tensor<4xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// A branch in a loop: first the branches write the result of the choice, then that is what the loop carries.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:2 = stablehlo.while(%p = %n, %a = %x) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = "stablehlo.if"(%p) ({
        %2 = stablehlo.sine %a : tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }, {
        %2 = stablehlo.cosine %x : tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      stablehlo.return %f, %1 : tensor<i1>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:2 = "stablehlo.while"(%0, %1, %arg1) ({
    ^bb0(%iterArg: tensor<i1>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<4xf32>):
      stablehlo.return %iterArg : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i1>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<4xf32>):
      %3 = "stablehlo.if"(%iterArg, %iterArg_0, %iterArg_1) ({
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<4xf32>):
        %5 = stablehlo.sine %arg2 : tensor<4xf32>
        stablehlo.return %5 : tensor<4xf32>
      }, {
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<4xf32>):
        %5 = stablehlo.cosine %arg3 : tensor<4xf32>
        stablehlo.return %5 : tensor<4xf32>
      }) {farcall.captures = 2 : i64} : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %4 = farcall.copy %c_2 : tensor<i1>
      stablehlo.return %4, %3 : tensor<i1>, tensor<4xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>)
    return %2#1 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// As before, but the carried value is read after the choice: what the branches write is copied to it.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:3 = stablehlo.while(%p = %n, %a = %x, %b = %x) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = "stablehlo.if"(%p) ({
        %2 = stablehlo.sine %a : tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }, {
        %2 = stablehlo.cosine %a : tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      %3 = stablehlo.add %a, %b : tensor<4xf32>
      stablehlo.return %f, %1, %3 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2 = farcall.copy %arg1 : tensor<4xf32>
    %3:3 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1, %iterArg_1 = %2) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %4 = "stablehlo.if"(%iterArg, %iterArg_0) ({
      ^bb0(%arg2: tensor<4xf32>):
        %8 = stablehlo.sine %arg2 : tensor<4xf32>
        stablehlo.return %8 : tensor<4xf32>
      }, {
      ^bb0(%arg2: tensor<4xf32>):
        %8 = stablehlo.cosine %arg2 : tensor<4xf32>
        stablehlo.return %8 : tensor<4xf32>
      }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
      %5 = stablehlo.add %iterArg_0, %iterArg_1 : tensor<4xf32>
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %6 = farcall.copy %c_2 : tensor<i1>
      %7 = farcall.copy %4 : tensor<4xf32>
      stablehlo.return %6, %7, %5 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    return %3#1, %3#2 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: coalesce
// Only copies at the end of a body are looked at; one in the middle stays.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p, %x) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.sine %a : tensor<4xf32>
    %2 = farcall.copy %1 : tensor<4xf32>
    %3 = stablehlo.add %2, %1 : tensor<4xf32>
    %4 = farcall.copy %3 : tensor<4xf32>
    stablehlo.return %4 : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    %1 = farcall.copy %a : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.if"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<4xf32>):
      %1 = stablehlo.sine %arg2 : tensor<4xf32>
      %2 = farcall.copy %1 : tensor<4xf32>
      %3 = stablehlo.add %2, %1 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }, {
    ^bb0(%arg2: tensor<4xf32>):
      %1 = farcall.copy %arg2 : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// What one branch writes does not matter to what the other one reads, nor to what decided between them.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = stablehlo.while(%p = %n, %a = %x) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1:2 = "stablehlo.if"(%p) ({
        %2 = stablehlo.sine %a : tensor<4xf32>
        %3 = stablehlo.slice %2 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
        %4 = stablehlo.is_finite %3 : (tensor<1xf32>) -> tensor<1xi1>
        %5 = stablehlo.reshape %4 : (tensor<1xi1>) -> tensor<i1>
        %6 = stablehlo.not %5 : tensor<i1>
        stablehlo.return %6, %2 : tensor<i1>, tensor<4xf32>
      }, {
        %2 = stablehlo.cosine %a : tensor<4xf32>
        %3 = stablehlo.not %p : tensor<i1>
        stablehlo.return %3, %2 : tensor<i1>, tensor<4xf32>
      }) : (tensor<i1>) -> (tensor<i1>, tensor<4xf32>)
      stablehlo.return %1#0, %1#1 : tensor<i1>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %3:2 = "stablehlo.if"(%iterArg, %iterArg_0, %iterArg) ({
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<i1>):
        %4 = stablehlo.sine %arg2 : tensor<4xf32>
        %5 = stablehlo.slice %4 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
        %6 = stablehlo.is_finite %5 : (tensor<1xf32>) -> tensor<1xi1>
        %7 = stablehlo.reshape %6 : (tensor<1xi1>) -> tensor<i1>
        %8 = stablehlo.not %7 : tensor<i1>
        stablehlo.return %8, %4 : tensor<i1>, tensor<4xf32>
      }, {
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<i1>):
        %4 = stablehlo.cosine %arg2 : tensor<4xf32>
        %5 = stablehlo.not %arg3 : tensor<i1>
        stablehlo.return %5, %4 : tensor<i1>, tensor<4xf32>
      }) {farcall.captures = 2 : i64} : (tensor<i1>, tensor<4xf32>, tensor<i1>) -> (tensor<i1>, tensor<4xf32>)
      stablehlo.return %3#0, %3#1 : tensor<i1>, tensor<4xf32>
    }
    return %2#1 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce
// But a branch that reads the carried value after it has written the new one needs the copy.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:2 = stablehlo.while(%p = %n, %a = %x) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1:2 = "stablehlo.if"(%p) ({
        %2 = stablehlo.sine %a : tensor<4xf32>
        stablehlo.return %p, %2 : tensor<i1>, tensor<4xf32>
      }, {
        %2 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
        %3 = stablehlo.compare LT, %2, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %4 = stablehlo.slice %3 [0:1] : (tensor<4xi1>) -> tensor<1xi1>
        %5 = stablehlo.reshape %4 : (tensor<1xi1>) -> tensor<i1>
        stablehlo.return %5, %2 : tensor<i1>, tensor<4xf32>
      }) : (tensor<i1>) -> (tensor<i1>, tensor<4xf32>)
      %6 = stablehlo.and %1#0, %f : tensor<i1>
      stablehlo.return %6, %1#1 : tensor<i1>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %3:2 = "stablehlo.if"(%iterArg, %iterArg_0, %iterArg) ({
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<i1>):
        %6 = stablehlo.sine %arg2 : tensor<4xf32>
        %7 = farcall.copy %arg3 : tensor<i1>
        stablehlo.return %7, %6 : tensor<i1>, tensor<4xf32>
      }, {
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<i1>):
        %6 = stablehlo.reverse %arg2, dims = [0] : tensor<4xf32>
        %7 = stablehlo.compare LT, %6, %arg2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %8 = stablehlo.slice %7 [0:1] : (tensor<4xi1>) -> tensor<1xi1>
        %9 = stablehlo.reshape %8 : (tensor<1xi1>) -> tensor<i1>
        stablehlo.return %9, %6 : tensor<i1>, tensor<4xf32>
      }) {farcall.captures = 2 : i64} : (tensor<i1>, tensor<4xf32>, tensor<i1>) -> (tensor<i1>, tensor<4xf32>)
      %c_1 = stablehlo.constant dense<false> : tensor<i1>
      %4 = stablehlo.and %3#0, %c_1 : tensor<i1>
      %5 = farcall.copy %3#1 : tensor<4xf32>
      stablehlo.return %4, %5 : tensor<i1>, tensor<4xf32>
    }
    return %2#1 : tensor<4xf32>
  }
}
