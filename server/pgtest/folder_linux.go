package pgtest

import "syscall"

// memory is a file system in memory. Making and dropping schemas makes and removes
// a hundred files each, which ext4 takes several times as long for.
const memory = "/dev/shm"

// room is what a run of all tests needs at most, in bytes. A container has often
// far less there.
const room = 2 << 30

// parentFolder is where the folder of a test server is best; empty is the system's
// temporary folder.
func parentFolder() string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(memory, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < room {
		return ""
	}
	if syscall.Access(memory, 7) != nil { // read, write, enter
		return ""
	}
	return memory
}
