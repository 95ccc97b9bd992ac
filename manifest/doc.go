// Package manifest lists the files of a tree with their SHA-256, in the format that
// sha256sum and its kin write and check, and holds a tree against such a list.
//
//	copies/                         manifest
//	  broker-1/meta.properties  ->    5d41…  broker-1/meta.properties
//	  broker-1/t-0/0.log        ->    9b74…  broker-1/t-0/0.log
//	  broker-1/link -> /etc     ->    (a link: told, never followed, not in the list)
//
// Whether a name means something to Kafka is no question here: evidence is every regular
// file. A file that grows while it is read is told apart from one that was read whole.
//
// This package never writes, and a failed read is an error of that file, never a
// difference.
package manifest
