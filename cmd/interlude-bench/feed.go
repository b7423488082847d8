package main

import (
	"context"

	"github.com/interlude-go/interlude/lifecycle"
)

// feed reads a feed of all events during the round trips.
type feed struct{ done chan error }

// startFeed starts a reader that ends when it has seen the end of each run. Without -feed it does
// nothing.
func startFeed(ctx context.Context, h *host, o options) (*feed, error) {
	f := &feed{done: make(chan error, 1)}
	if !o.feed {
		f.done <- nil
		return f, nil
	}
	// The host's store is wrapped and has no feeds.
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: h.store.counted})
	if err != nil {
		return nil, err
	}
	if _, err := c.CreateFeed(ctx, "bench", lifecycle.DefaultFeedLag); err != nil {
		c.Close()
		return nil, err
	}
	go func() {
		defer c.Close()
		f.done <- readFeed(ctx, c, o.runs)
	}()
	return f, nil
}

func readFeed(ctx context.Context, c *lifecycle.Client, runs int) error {
	for event, err := range c.Feed(ctx, "bench", lifecycle.FeedFilter{}) {
		if err != nil {
			return err
		}
		if event.Terminal() {
			runs--
		}
		if !event.More {
			if err := event.Ack(ctx); err != nil {
				return err
			}
		}
		if runs == 0 {
			break
		}
	}
	return c.DeleteFeed(ctx, "bench")
}

func (f *feed) wait() error { return <-f.done }
