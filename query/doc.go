// Package query is the filter language of --where, of the browser and of export: a condition on
// the decoded fields of a line, such as
//
//	epoch == 7 && codec == "zstd" && offset >= 1000
//
// The names are those of the lines of dump --json (docs/json.md), and some short ones beside them.
// Names and types are checked before anything is read, and what the condition does not name is
// not decoded for it.
//
// It is a part of the language of github.com/expr-lang/expr, which parses it and runs it: conditions
// without loops, variables, clocks or anything outside the line. A text from anywhere may be
// compiled and run on any line: it ends soon, in bounded memory, and does nothing else.
//
// It judges nothing and prints nothing.
package query
