package slots

import "iter"

// Around iterates over the keys in the order of Queue.Keys: from after last to the end, then from
// the first key to last. Use it for a queue that is cheap to ask for one key at a time: next
// returns the first key, in byte order, after the given one, or from it if inclusive. An error of
// next ends the sequence, as its last pair.
func Around(last string, next func(after string, inclusive bool) (key string, ok bool, err error)) iter.Seq2[string,
	error] {
	return func(yield func(string, error) bool) {
		key, ok, err := next(last, false)
		for ; err == nil && ok; key, ok, err = next(key, false) {
			if !yield(key, nil) {
				return
			}
		}
		if err == nil {
			key, ok, err = next("", true)
		}
		for ; err == nil && ok && key <= last; key, ok, err = next(key, false) {
			if !yield(key, nil) || key == last {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}
