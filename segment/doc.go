// Package segment cuts the bytes of one .log file into frames, and decodes the files
// beside it: the sparse indexes ([ScanIndex], [ScanTimeIndex]), the aborted transactions
// ([ScanTxnIndex]) and the producers ([ReadSnapshot]).
//
//	offset 0                                                        size
//	+---------+---------+=========+---------+- - - - - -+---------+---+
//	|  Batch  |  Batch  |  Junk   |  Batch  |   Zeros   |  Batch  |Torn|
//	+---------+---------+=========+---------+- - - - - -+---------+---+
//	 chained by lengths  chain broke, resumed at the next proven header
//
// [Scan] yields frames that tile the file: the first begins at ScanOptions.From, each
// begins where the one before it ended, the last ends at the size. Damage never stops
// it and never makes a byte disappear.
//
// # How the chain is followed
//
// Kafka walks a file by lengths alone (FileLogInputStream.nextBatch): 12 bytes of
// offset and length, then as many bytes as the length says. So does Scan, and it
// checks the CRC of every batch. A wrong CRC does not break the chain as long as
// a sane header, or the end of the file, follows where the length says.
//
// The chain breaks at a length that is too small or reaches beyond the file, at zero
// bytes, and behind a batch with a wrong CRC that no sane header follows. Scan then
// looks, position by position, for a header that
//
//   - has a length that fits and field values that a writer could have written,
//   - has a CRC that verifies,
//   - has offsets that can continue the log, and
//   - is followed by another sane header or the end of the file; one that is not (damage
//     on both sides of it) counts only if the next proven header agrees with its offsets.
//
// What lies between is Junk, or Zeros where it is zero. A batch with a CRC that verifies
// but fails the last two rules is Embedded: the image of a batch inside a record of
// a damaged batch, or left behind by another use of the disk block.
//
// Base offset and length are not covered by the CRC. So one batch whose base offset
// was flipped must not decide what can continue: see tracker. And where the CRC of
// a batch verifies over another length than its header claims, the length is what was
// damaged: the frame is then a Batch with Damage [batch.ErrLength] and whole contents.
//
// # Cost
//
// A sound file is read once, in large sequential reads, with no allocation per batch.
// Searching after damage reads at most 3 times the file on top of that, which are 4 in
// total; when that is used up, the rest is one Junk frame whose Damage is [ErrBudget].
// The buffer grows to hold one batch as its bytes really arrive, up to [MaxRaw];
// the CRC of a larger one is computed in passing and its Raw is nil.
//
// # Lifetimes
//
// Scan copies each frame for its caller; Walk and Runs lend them, which matters where batches
// are small. Raw, in a frame and in its batch, is borrowed from the read buffer until the next step
// of the iteration. Everything else may be kept.
//
// This package never stops at damage, calls a failed read damage, skips a byte silently,
// maps a file or decides how bad something is.
//
// Source of truth: org.apache.kafka.common.record.FileLogInputStream,
// DefaultRecordBatch, LegacyRecord.
package segment
