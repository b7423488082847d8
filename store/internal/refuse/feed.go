package refuse

import (
	"fmt"

	"github.com/interlude-go/interlude/store"
)

// FeedExists refuses to create a feed whose name is taken.
func FeedExists(name string) error { return fmt.Errorf("%w: feed %s", store.ErrExists, name) }

// TooManyFeeds refuses to create a feed because there are f.Most others.
func TooManyFeeds(f store.Feed) error {
	return fmt.Errorf("%w feeds: there are %d already, so %s cannot be created", store.ErrTooMany, f.Most, f.Name)
}

// NoFeed reports that there is no feed with this name.
func NoFeed(name string) error { return fmt.Errorf("%w: feed %.80q", store.ErrNotFound, name) }

// StaleFeed refuses a reader whose lease is not the feed's last one, because another reader took
// over or the feed was deleted.
func StaleFeed(name string) error {
	return fmt.Errorf("%w: feed %.80s has another reader or is deleted", store.ErrStaleEpoch, name)
}

// LostFeed reports that the feed is lost.
func LostFeed(name string) error { return fmt.Errorf("%w: feed %.80s", store.ErrFeedLost, name) }
