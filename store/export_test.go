package store

// FirstForm is what Decode reads of a record; the record itself if it is refused.
func FirstForm(body []byte) []byte {
	if inner, err := firstForm(body); err == nil {
		return inner
	}
	return body
}

// NamedNeeds returns the names of the features that a reader of the record must know.
func NamedNeeds(r *Run) (names []string) {
	for i := range needs {
		if needs[i].of(r) {
			names = append(names, needs[i].name)
		}
	}
	return names
}

// ScanRun is how Decode reads what Encode wrote; false when it leaves the record to encoding/json.
func ScanRun(body []byte) (r Run, ok bool) {
	ok = scanRun(body, &r)
	return r, ok
}
