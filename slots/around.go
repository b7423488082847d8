package slots

import "iter"

// Around goes through the keys as Queue.Keys orders them: after last to the end, then from the
// first one of all up to last. It is for a queue near enough to be asked for one key at a time:
// next returns the first key, in byte order, after the given one; with inclusive, the given one
// itself counts. An error of next ends it, as its last pair.
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
