package sqlite

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// SQLite replays any valid WAL that it finds for a file, even another database's, or the old one
// after a copy replaced the file. The mixed pages are damaged or, worse, look valid. So the table
// wal links the file and its WAL, which is identified by the salts that SQLite writes into its
// header at each restart. The table's row names the current WAL and its predecessor; a separate
// transaction writes it, after the first transaction in each WAL. So
//
//   - the row in the file itself names the current WAL, or its predecessor;
//   - a WAL that contains the row has both names.
//
// Open refuses a pair that violates this (checkWAL). An open store detects by the salts that
// another WAL has overwritten its own (walWatch).

// markPrefix starts each value of the row, to identify the row in a page.
const markPrefix = "interlude-wal:"

type mark struct {
	current, previous salts
	nonce             salts // changes with each write of the row
}

// A row that names both WALs may also be in a copy of the file, by VACUUM INTO or cp. Therefore the
// nonce also names the two files, if the system has their creation times. A copy that takes the
// file's place is another file next to the same WAL; if both differ, the pair was copied, which is
// sound.

// fileNonce starts a nonce that names the files.
const fileNonce = '~'

// newNonce returns a random nonce, which names the files if the system identifies them.
func newNonce(db, wal *os.File) salts {
	n := salts([]byte(rand.Text()[:len(salts{})]))
	dbName, known := nameOf(db)
	walName, both := nameOf(wal)
	if known && both {
		n[0] = fileNonce
		copy(n[6:], dbName)
		copy(n[11:], walName)
	}
	return n
}

// wroteBesideAnother reports whether a row with this nonce was written into this WAL when another
// file was the database.
func (n salts) wroteBesideAnother(db, wal *os.File) bool {
	if n[0] != fileNonce {
		return false
	}
	dbName, known := nameOf(db)
	walName, both := nameOf(wal)
	return known && both && string(n[11:]) == walName && string(n[6:11]) != dbName
}

// nameOf returns five characters that identify a file, with a chance of 1 in 33 million of a
// collision; ok is false if the system has no creation time. An inode's number may be reused.
func nameOf(f *os.File) (name string, ok bool) {
	made, ok := inodeOf(f)
	sum := sha256.Sum256([]byte(made))
	return base32.StdEncoding.EncodeToString(sum[:5])[:5], ok
}

func markText(s salts) string { return markPrefix + string(s[:]) }

// markAt is the bytes of the row before its first value, as SQLite writes them: the length of the
// record, the number of the row, the length of the record's head, and the type of each value, a
// text of 30 bytes.
const markAt = "\x5e\x01\x04\x49\x49\x49"

// readMark returns the row of a page: a leaf page with a single cell, every byte of which is as
// SQLite writes that row. No user text can make another page look like that.
func readMark(page []byte) (m mark, ok bool) {
	const leaf, head = 0x0d, 8
	if page[0] != leaf || binary.BigEndian.Uint16(page[3:]) != 1 {
		return m, false
	}
	cell := page[min(int(binary.BigEndian.Uint16(page[head:])), len(page)):]
	values, ok := bytes.CutPrefix(cell, []byte(markAt))
	if !ok {
		return m, false
	}
	for _, into := range []*salts{&m.current, &m.previous, &m.nonce} {
		if values, ok = bytes.CutPrefix(values, []byte(markPrefix)); !ok || len(values) < len(into) {
			return m, false
		}
		values = values[copy(into[:], values):]
	}
	return m, true
}

// salts are the salts of a WAL's header, in hexadecimal.
type salts [16]byte

type walHead struct {
	pageSize int
	order    binary.ByteOrder // of the checksum's numbers
	salts    salts
	sums     [2]uint32
}

const (
	walHeadSize   = 32
	frameHeadSize = 24
)

// readWALHead reads a WAL's header; ok is false if SQLite would not accept it.
func readWALHead(f io.ReaderAt) (h walHead, ok bool) {
	var b [walHeadSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return h, false
	}
	switch binary.BigEndian.Uint32(b[:]) {
	case 0x377f0682:
		h.order = binary.LittleEndian
	case 0x377f0683:
		h.order = binary.BigEndian
	default:
		return h, false
	}
	h.pageSize = int(binary.BigEndian.Uint32(b[8:]))
	hex.Encode(h.salts[:], b[16:24])
	h.sums = checksum(h.order, [2]uint32{}, b[:24])
	ok = h.sums == sumsOf(b[24:]) && h.pageSize >= 512 && h.pageSize <= 65536
	return h, ok
}

func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

func sumsOf(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

type walMarks struct {
	page uint32 // of the row
	rows []mark
}

// names reports whether a row names that WAL, as the current one or its predecessor.
func (w walMarks) names(s salts) bool {
	return slices.ContainsFunc(w.rows, func(m mark) bool { return m.current == s || m.previous == s })
}

// readWALMarks reads the WAL as SQLite does, up to its last complete transaction.
func readWALMarks(f io.ReaderAt, h walHead) (found walMarks, _ error) {
	frame := make([]byte, frameHeadSize+h.pageSize)
	raw := make([]byte, len(h.salts)/2)
	if _, err := hex.Decode(raw, h.salts[:]); err != nil {
		return found, err
	}
	var all walMarks
	for at := int64(walHeadSize); ; at += int64(len(frame)) {
		if _, err := f.ReadAt(frame, at); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return found, err
		}
		head, page := frame[:frameHeadSize], frame[frameHeadSize:]
		h.sums = checksum(h.order, checksum(h.order, h.sums, head[:8]), page)
		if !bytes.Equal(head[8:16], raw) || h.sums != sumsOf(head[16:]) {
			return found, nil
		}
		if m, ok := readMark(page); ok {
			all.page, all.rows = binary.BigEndian.Uint32(head), append(all.rows, m)
		}
		if binary.BigEndian.Uint32(head[4:]) != 0 { // the last frame of a transaction
			found = all
		}
	}
}

func markOfFile(db io.ReaderAt, page uint32, pageSize int) (m mark, ok bool, _ error) {
	b := make([]byte, pageSize)
	if _, err := db.ReadAt(b, (int64(page)-1)*int64(pageSize)); err != nil && !errors.Is(err, io.EOF) {
		return m, false, err
	}
	m, ok = readMark(b)
	return m, ok, nil
}

// matchesFile reports whether the file's row names a WAL that a row in the WAL names too. If the
// row is not in the page where the WAL has it, all pages are searched: VACUUM may have moved it.
func (w walMarks) matchesFile(db io.ReaderAt, pageSize int) (bool, error) {
	m, there, err := markOfFile(db, w.page, pageSize)
	if err != nil || there && w.names(m.current) {
		return err == nil, err
	}
	pages := bufio.NewReaderSize(io.NewSectionReader(db, 0, math.MaxInt64), 1<<20)
	for page := make([]byte, pageSize); ; {
		if _, err := io.ReadFull(pages, page); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if m, there := readMark(page); there && w.names(m.current) {
			return true, nil
		}
	}
}

// checkWAL rejects a file with another file's or copy's WAL, before anything reads it. It accepts a
// WAL without the row (an earlier release left it, or the process ended before it wrote the row),
// and one in which the table was created.
func checkWAL(path string, db *os.File) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f, err := os.Open(target + "-wal")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // if it may not be read, opening the database returns why
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		h, ok := readWALHead(f)
		if !ok {
			return nil // SQLite ignores it, too
		}
		found, err := readWALMarks(f, h)
		if err != nil || len(found.rows) == 0 {
			return err
		}
		if !found.rows[len(found.rows)-1].nonce.wroteBesideAnother(db, f) {
			if markText(found.rows[0].previous) == newMark {
				return nil
			}
			if named, err := found.matchesFile(db, h.pageSize); err != nil || named {
				return err
			}
		}
		if now, ok := readWALHead(f); ok && now.salts == h.salts {
			return fmt.Errorf("%w: if the file was restored, move %s-wal and %[2]s-shm away; if not, put the file "+
				"back that they belong to", ErrForeignWAL, filepath.Base(target))
		}
		// other processes use it, and have since restarted it
	}
}

type walWatch struct {
	path   string  // of the database, without links
	db     *handle // of the database; it is closed after the connections
	f      *os.File
	marked salts // of the WAL that has its row
	head   [walHeadSize]byte

	reserves     bool  // reserve has an effect
	sinceReserve int   // transactions since the last check
	reserved     int64 // size of the file after the last addition
}

// watchWAL opens the WAL. If flushed is true, each transaction is followed by an fsync.
func watchWAL(path string, flushed bool) (*walWatch, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	db, err := readHandle(target)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(target+"-wal", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &walWatch{path: target, db: db, f: f, reserves: flushed}, nil
}

func (w *walWatch) close() error { return errors.Join(w.f.Close(), w.db.Close()) }

const (
	walPages     = 4000      // a commit behind this page starts a checkpoint
	reserveBytes = 256 << 10 // added at a time
	reserveEvery = 8         // transactions
)

var zeros [reserveBytes]byte // read only

// reserve adds zeros to the end of a WAL that is almost full, until it has its full size. An fsync
// costs about 60 µs more processor time if the file has grown: the file system allocates blocks and
// flushes its own journal. SQLite ignores all bytes after the last valid frame. The same happens
// after a checkpoint, when SQLite overwrites the WAL from its start. The caller is in a write transaction, so no
// other process writes to the WAL. After an error SQLite extends the file itself, and reports it.
func (w *walWatch) reserve() {
	if w.sinceReserve++; !w.reserves || w.sinceReserve < reserveEvery {
		return
	}
	w.sinceReserve = 0
	frame := int64(frameHeadSize) + int64(binary.BigEndian.Uint32(w.head[8:])) // begun has read the head
	if w.reserved > 0 {
		middle := walHeadSize + (w.reserved-reserveBytes/2)/frame*frame
		if _, err := w.f.ReadAt(w.head[:4], middle); err == nil && binary.BigEndian.Uint32(w.head[:]) == 0 {
			return // a written frame begins with the number of its page, which is not zero
		}
	}
	info, err := w.f.Stat()
	if err != nil || info.Size() < walHeadSize || info.Size() >= walPages*frame {
		w.reserves = false
		return
	}
	n, err := w.f.WriteAt(zeros[:], info.Size())
	w.reserves, w.reserved = err == nil, info.Size()+int64(n)
}

// begun reports whether the WAL was restarted since it was last marked, and returns its salts.
func (w *walWatch) begun() (now salts, begun bool) {
	if n, _ := w.f.ReadAt(w.head[:24], 0); n < 24 {
		return now, false // nothing was written since it was truncated
	}
	hex.Encode(now[:], w.head[16:24])
	return now, now != w.marked
}

// checkBegunWAL marks a restarted WAL, after the transaction that restarted it and before its
// acknowledgement. If the WAL at the file's path lacks the mark, it was overwritten, and SQLite
// writes to a file that the next process will not read.
func (w *writer) checkBegunWAL() error {
	now, begun := w.wal.begun()
	if !begun {
		return nil
	}
	nonce, err := w.markWAL(now)
	if explained := explain(err); errors.Is(explained, ErrCorrupt) || errors.Is(explained, ErrNotDatabase) {
		return w.walReplaced()
	}
	if err != nil || nonce == (salts{}) {
		return nil //nolint:nilerr // the acknowledged commit is stored; the next transaction retries
	}
	h, ok := readWALHead(w.wal.f)
	if !ok || h.salts != now {
		return nil // another process has restarted it; the next transaction marks it
	}
	found, err := readWALMarks(w.wal.f, h)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if slices.ContainsFunc(found.rows, func(m mark) bool { return m.nonce == nonce }) {
		w.wal.marked = now
		return nil
	}
	if again, _ := w.wal.begun(); again != now {
		return nil
	}
	return w.walReplaced()
}

func (w *writer) walReplaced() error {
	path := w.wal.path + "-wal"
	w.present.lost.CompareAndSwap(nil, &path)
	return w.present.err()
}

// markWAL writes the row that names the WAL, and returns its nonce; but not before the file itself
// has the row, since the previous WAL would be unknown.
func (w *writer) markWAL(now salts) (nonce salts, err error) {
	there, err := w.markSettled(w.wal.db)
	if err != nil {
		return nonce, err
	}
	if !there {
		w.wal.marked = now
		return nonce, nil
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return nonce, err
	}
	fresh := newNonce(w.wal.db.File, w.wal.f)
	_, err = w.exec(`UPDATE wal SET previous = CASE WHEN current = ?1 THEN previous ELSE current END, current = ?1,
		nonce = ?2`, markText(now), markText(fresh))
	if err == nil {
		_, err = w.exec("COMMIT")
	}
	if err != nil {
		_, _ = w.exec("ROLLBACK") // may have been rolled back already
		w.cache.clear()
		return nonce, err
	}
	return fresh, nil
}

// markSettled reports whether the row of the table wal is in the file itself.
func (c *conn) markSettled(db io.ReaderAt) (bool, error) {
	r, err := c.one(`SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'wal'`)
	if err != nil {
		return false, err
	}
	_, there, err := markOfFile(db, uint32(r.int(0)), int(r.int(1)))
	return there, err
}

// settleMark brings a new row into the file itself.
func (c *conn) settleMark(db io.ReaderAt) error {
	if there, err := c.markSettled(db); err != nil || there {
		return err
	}
	return c.run("PRAGMA wal_checkpoint(PASSIVE)")
}

func (c *conn) nameNoWAL() error { return c.run(`UPDATE wal SET current = ` + randomMark) }

// newMark names the previous WAL in a row made with the table. The file itself may not have the row
// yet.
const newMark = markPrefix + "0000000000000000"

// randomMark is a value that names no WAL.
const randomMark = `'` + markPrefix + `' || lower(hex(randomblob(8)))`
