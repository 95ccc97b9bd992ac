// Package cli is kafsck's command line: flags, wiring, progress and exit codes.
//
// One command, one file, one newXCommand and one runX. Flags are parsed here and
// nothing below this package sees one. stdout carries the result, stderr
// everything else; text and JSON are two printers (package report) over the same
// values.
//
// Exit codes are bits, as fsck's, and part of the result:
//
//	0    done; nothing at or above --fail-on, replicas agree or a follower is merely behind
//	1    findings, divergence, loss
//	2    incomplete: something could not be read, or could not be told
//	4    refused for safety
//	64   bad usage
//	70   a bug of ours (a panic, caught in Main)
//	130  interrupted; 143 by SIGTERM, 129 by SIGHUP
//
// This package never holds logic that a test would want to call without a
// process, and never writes anything beside its inputs.
package cli
