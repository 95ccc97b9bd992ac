package replica

// Remembered is how many transactions, open or over, the state holds.
func (s *Producers) Remembered() int { return len(s.ongoing) }
