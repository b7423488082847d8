// Package render converts agents' texts for display: Markdown to a small tree, source code to coloured
// tokens, two versions of a text to a diff.
//
// Nothing is left out. Every character of a source, except blanks and the marks of Markdown, is in
// the result, in its order; a part of a document for which this fails becomes one block of source
// text. HTML, reference definitions, titles and addresses of pictures are drawn as text, and a link
// has its address, so a front end needs no sanitizer: it creates elements from kinds and sets their
// text. As with every untrusted text, it writes out hidden characters: with interaction.Visible in
// code, and with interaction.VisibleProse elsewhere.
//
// All functions are pure apart from a limit on the time for colours, and safe for concurrent use.
package render
