// Package report prints values of the judging packages: as text for people and
// as JSON Lines for programs (docs/json.md).
//
// Text follows one rule: it is read at three in the morning. The verdict comes
// first, the proof under it, the next command last. Offset ranges are half-open
// in values and JSON and inclusive in text, which says "offsets 100–199".
//
// Every name, path, key and value that came from a disk passes through [Escape]
// on its way to text, so that no byte of the inputs can move the cursor, colour
// the terminal or turn the reading direction. Nothing here emits ESC.
//
// This package never computes, never decides, never reads a file, and never
// loses a field in text that JSON has without saying that there is more.
package report
