package redact

// node is a state of the search: the text so far ends with the bytes on the way from the root (node
// 0) to it, and with no longer beginning of a pattern (Aho and Corasick's automaton). Siblings are
// chained: except the root, whose children are in Redactor.first, hardly any node has two.
type node struct {
	child, sibling int32 // 0: none
	fail           int32 // the longest proper suffix that is the beginning of a pattern
	depth          int32 // the length of the way: how much may begin a secret
	match          int32 // the length of the longest pattern that ends here; 0: none
	by             byte  // the last byte on the way
}

func (r *Redactor) add(pattern string) {
	at := int32(0)
	for i := range len(pattern) {
		c := pattern[i]
		to := r.child(at, c)
		if to == 0 {
			to = int32(len(r.nodes)) // variables of an environment are far below 2 GiB
			r.nodes = append(r.nodes, node{by: c, depth: r.nodes[at].depth + 1, sibling: r.nodes[at].child})
			r.nodes[at].child = to
			if at == 0 {
				r.first[c] = to
			}
		}
		at = to
	}
	r.nodes[at].match = r.nodes[at].depth
}

func (r *Redactor) child(at int32, c byte) int32 {
	if at == 0 {
		return r.first[c]
	}
	for n := r.nodes[at].child; n != 0; n = r.nodes[n].sibling {
		if r.nodes[n].by == c {
			return n
		}
	}
	return 0
}

func (r *Redactor) link() {
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for n := r.nodes[at].child; n != 0; n = r.nodes[n].sibling {
			if at != 0 {
				r.nodes[n].fail = r.next(r.nodes[at].fail, r.nodes[n].by)
			}
			if suffix := r.nodes[r.nodes[n].fail]; r.nodes[n].match == 0 {
				r.nodes[n].match = suffix.match
			}
			queue = append(queue, n)
		}
	}
}

func (r *Redactor) next(state int32, c byte) int32 {
	for state != 0 {
		if to := r.child(state, c); to != 0 {
			return to
		}
		state = r.nodes[state].fail
	}
	return r.first[c]
}
