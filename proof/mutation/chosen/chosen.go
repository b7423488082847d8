// Package chosen is compiled into a package that contains all its mutants at once. Each operator
// that a mutant can change becomes a call of a function here, and an environment variable says
// which mutant is active. It imports the standard library only.
package chosen

import (
	"cmp"
	"os"
	"strconv"
)

// Variable is the environment variable with the number of the active mutant. Without it, none is
// active.
const Variable = "MUTANT"

var number, _ = strconv.Atoi(os.Getenv(Variable))

// On reports whether the mutant is the active one.
func On(id int) bool { return id > 0 && id == number }

func pick[T any](id int, mutant, original T) T {
	if On(id) {
		return mutant
	}
	return original
}

// Less is <, or <= under its mutant. The functions below are documented in the same way.
func Less[T cmp.Ordered](id int, a, b T) bool { return pick(id, a <= b, a < b) }

// LessEqual is <=, or <.
func LessEqual[T cmp.Ordered](id int, a, b T) bool { return pick(id, a < b, a <= b) }

// Greater is >, or >=.
func Greater[T cmp.Ordered](id int, a, b T) bool { return pick(id, a >= b, a > b) }

// GreaterEqual is >=, or >.
func GreaterEqual[T cmp.Ordered](id int, a, b T) bool { return pick(id, a > b, a >= b) }

// And is &&, or ||.
func And(id int, a bool, b func() bool) bool {
	if On(id) {
		return a || b()
	}
	return a && b()
}

// Or is ||, or &&.
func Or(id int, a bool, b func() bool) bool {
	if On(id) {
		return a && b()
	}
	return a || b()
}

// Integer is any type of integers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Add is +, or -.
func Add[T Integer](id int, a, b T) T { return pick(id, a-b, a+b) }

// Sub is -, or +, under either of two mutants.
func Sub[T Integer](id, other int, a, b T) T { return pick(id, a+b, pick(other, a+b, a-b)) }

// Neg is the - of one number, or +, under either of two mutants.
func Neg[T Integer](id, other int, a T) T { return pick(id, a, pick(other, a, -a)) }

// Mul is *, or /.
func Mul[T Integer](id int, a, b T) T {
	if On(id) {
		return a / b
	}
	return a * b
}

// Quo is /, or *.
func Quo[T Integer](id int, a, b T) T {
	if On(id) {
		return a * b
	}
	return a / b
}

// Rem is %, or *.
func Rem[T Integer](id int, a, b T) T {
	if On(id) {
		return a * b
	}
	return a % b
}

// BitAnd is &, or |.
func BitAnd[T Integer](id int, a, b T) T { return pick(id, a|b, a&b) }

// BitOr is |, or &.
func BitOr[T Integer](id int, a, b T) T { return pick(id, a&b, a|b) }

// Left is <<, or >>.
func Left[T, U Integer](id int, a T, b U) T { return pick(id, a>>b, a<<b) }

// Right is >>, or <<.
func Right[T, U Integer](id int, a T, b U) T { return pick(id, a<<b, a>>b) }

// Inc is ++, or --.
func Inc[T Integer](id int, a *T) { *a += pick(id, ^T(0), 1) }

// Dec is --, or ++.
func Dec[T Integer](id int, a *T) { *a += pick(id, 1, ^T(0)) }

// AddTo is +=, or -=, or =.
func AddTo[T Integer](id, alone int, a *T, b T) { *a = pick(alone, b, pick(id, *a-b, *a+b)) }

// SubFrom is -=, or +=, or =.
func SubFrom[T Integer](id, alone int, a *T, b T) { *a = pick(alone, b, pick(id, *a+b, *a-b)) }

// QuoOf is /=, or *=, or =.
func QuoOf[T Integer](id, alone int, a *T, b T) {
	if On(alone) {
		*a = b
		return
	}
	*a = Quo(id, *a, b)
}

// OrInto is |=, or &=, or =.
func OrInto[T Integer](id, alone int, a *T, b T) { *a = pick(alone, b, BitOr(id, *a, b)) }

// AndInto is &=, or |=, or =.
func AndInto[T Integer](id, alone int, a *T, b T) { *a = pick(alone, b, BitAnd(id, *a, b)) }
