// Package outfile writes the files and directories that the user named: exports,
// catalogs, reports, the extracted demo.
//
//	Create("lost.jsonl")             NewDir("demo")
//	  .lost.jsonl.kafsck-1234          .demo.kafsck-1234/     everything is written here,
//	        | Commit: fsync, link            | Commit: fsync, rename
//	  lost.jsonl                       demo/                  and appears at once, complete
//
// Nothing that exists is ever overwritten: [ErrExists] names it. A run that fails or
// is killed leaves at most a temporary name beside the target, never half a target.
//
// A directory that exists and is empty may be filled; then its entries appear one
// after the other, since the directory itself belongs to the user.
//
// This package never writes log data of a broker in place (repair/apply does), never
// removes what it did not create, and never follows a name out of the directory that
// it writes.
package outfile
