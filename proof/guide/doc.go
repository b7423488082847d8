// Package guide follows docs/guide.md to the letter: it makes the files that the page shows, builds
// them as a module of their own, and types what the page types. It has tests only.
package guide
