package refuse

import (
	"fmt"

	"github.com/interlude-go/interlude/store"
)

func FeedExists(name string) error { return fmt.Errorf("%w: feed %s", store.ErrExists, name) }

func TooManyFeeds(f store.Feed) error {
	return fmt.Errorf("%w feeds: there are %d already, so %s cannot be created", store.ErrTooMany, f.Most, f.Name)
}

func NoFeed(name string) error { return fmt.Errorf("%w: feed %.80q", store.ErrNotFound, name) }

// StaleFeed refuses a reader whose lease is not the feed's last one: another reader took over, or
// the feed was deleted.
func StaleFeed(name string) error {
	return fmt.Errorf("%w: feed %.80s has another reader or is deleted", store.ErrStaleEpoch, name)
}

func LostFeed(name string) error { return fmt.Errorf("%w: feed %.80s", store.ErrFeedLost, name) }
