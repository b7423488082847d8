// Package guide follows docs/guide.md to the letter: it makes the files that the page shows, builds
// them as a module of their own, and executes the page's commands. It has only tests.
package guide
