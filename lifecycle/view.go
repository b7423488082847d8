package lifecycle

import "github.com/interlude-go/interlude/store"

// On returns the same client on another view of its store: one inside the caller's transaction, for
// example, which a store that sits on the caller's database offers. What is submitted, answered and
// canceled through it is stored, or is not, with that transaction.
//
// It costs next to nothing, so make one for each transaction. It has this client's clock, logger
// and engines, and needs no Close. It watches nothing: Wait and Events look once in a poll, and see
// what the view sees.
func (c *Client) On(view store.Store) *Client {
	on := *c // the alarm too: Serve may look for a deadline that is not committed yet, and finds it a poll later
	on.store, on.hub = view, newHub(nil)
	return &on
}
