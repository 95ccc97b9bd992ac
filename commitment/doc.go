// Package commitment grades whether records had been committed: whether the
// leader's high watermark had passed them, so that an acks=all producer may have
// been told "ok".
//
// It is a court: each [Witness] looks at a [Piece] of the lost records and may
// give [Evidence] for or against. [Weigh] makes the grade. All evidence is kept
// and shown; a "yes" stands against a "no", and without either the grade is
// unknown, never guessed.
//
//	witness            says   needs
//	high-watermark     yes    replication-offset-checkpoint of a holder
//	log-start          yes    log start of a replica on the same line
//	isr-history        yes    cluster metadata with the ISR of that time
//	acks               yes/no the producer's own acknowledgement log
//	clean-election     no     cluster metadata with every election since
//
// Group commits, completed transactions, tiered copies and broker logs are
// further witnesses of the same shape; each takes a file of its own here.
//
// This package knows values only: it reads no file, and it never invents a
// proof where a witness is missing.
package commitment
