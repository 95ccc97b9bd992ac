// Package logdir turns paths into brokers, log directories, partitions and segments: what lies
// where, under which name, how large, how old. It reads names, sizes, times and the small text
// files; it judges nothing.
//
// What a PATH may be, told by content, never by name alone ("broker-1" is also the name of
// partition 1 of a topic "broker"):
//
//	00000000000000000100.log                 a file            one partition with just that file
//	t-0/         D20.log, partition.metadata a partition       its log directory's checkpoints are read too
//	data/        meta.properties, *-offset-checkpoint, t-0/, …  a log directory
//	broker-1/    d0/ d1/                     a folder of log directories of one broker (JBOD)
//	copies/      broker-1/ broker-2/ …       a folder of brokers, folders of those, down to a fixed depth
//
// Nothing outside a PATH is looked at, with one exception: for a partition directory the folder
// above it, if that is a log directory, because the high watermark, recovery point and broker id of
// a partition are kept there. Its other partitions are not listed ([LogDir.Partial]).
//
// Names inside a log directory (LocalLog.parseTopicPartitionName, LogFileUtils):
//
//	TOPIC-PART                               live
//	TOPIC-PART.UID-future                    copy for a move between disks
//	TOPIC'-PART.UID-delete, …-stray          on the way out; the topic may be cut so that the name fits 255 characters
//	  D20.log .index .timeindex .txnindex    a segment; D20 = base offset, 20 digits
//	  D20.snapshot                           producer state up to that offset, exclusive
//	  ….deleted  ….swap  ….cleaned           renamed away; the cleaner's complete and incomplete output
//	  D20-D10.checkpoint                     __cluster_metadata-0 only: snapshot, end offset and epoch
//
// Anything else is listed as unknown with the reason, and is never an error. An error is something
// that could not be read: it goes to [Case.Errors], everything else is still reported, and what is
// only half known says so (Incomplete).
//
// All values belong to the [Case] and stay valid until [Case.Close], which only ends access through
// [File.Open]. They are not changed after [Discover] returned and may be read from several
// goroutines.
//
// This package never reads log contents, never follows a symbolic link out of the given tree, never
// opens anything but regular files, never creates or takes the broker's .lock (it asks with F_GETLK
// whether somebody else holds it), and never says how serious something is.
//
// Sources: LogManager.loadLogs, LocalLog.parseTopicPartitionName, LogFileUtils.offsetFromFileName,
// LocalLog.replaceSegments, MetaPropertiesEnsemble, Snapshots.parse (Kafka 4.3.1).
package logdir
