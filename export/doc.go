// Package export carries the records of a log out of it, losing nothing: as JSON Lines,
// which are the record lines of docs/json.md with more fields, and as Parquet
// (docs/export.md).
//
//	replica.Log --Walk--> Record, Record, …  --> JSONL    --> file or standard output
//	                |                        \-> Parquet  --> file
//	                \--> Skipped: what cannot be given out, and where it lies
//
//	lost records --+
//	               +--Compare--> Record with its Mark: absent from the new log,
//	the new log ---+             superseded there, or there already
//
// All of it works in bounded memory, whatever the log: a batch at a time, and of finished
// transactions and of compared records only so many at a time, with another pass over the
// log for the next ones. Nothing is given up for that but time.
//
// A failed read is an error and never a Skipped. This package writes to the io.Writer that
// it is given and nowhere else.
package export
