package pg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// identity is who the server's processes run as. PostgreSQL refuses to run as
// root, so that for root it is somebody else: root itself seen from a new user
// namespace (Linux), or else an ordinary account.
type identity struct {
	namespace  bool                // in a new user namespace, seen there as nobody
	credential *syscall.Credential // as that account; nil is ourselves
}

// own gives a folder that we made to the identity.
func (i identity) own(dir string) error {
	if i.credential == nil {
		return nil
	}
	return os.Chown(dir, int(i.credential.Uid), int(i.credential.Gid))
}

// hint tells who could not do something, when it is not who started us.
func (i identity) hint() string {
	if i.credential == nil {
		return ""
	}
	return fmt.Sprintf(" as user %d (PostgreSQL does not run as root; that user must be able to reach the folder)", i.credential.Uid)
}

// chooseIdentity decides by the owner of an existing data folder, and for a new
// one by what this system allows.
func chooseIdentity(dataDir string, exists bool, postgres string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{}, nil
	}
	if exists {
		info, err := os.Stat(dataDir)
		if err != nil {
			return identity{}, err
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			return identity{credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}, nil
		}
	}
	refused := tryNamespace(postgres)
	if refused == nil {
		return identity{namespace: true}, nil
	}
	if exists {
		return identity{}, fmt.Errorf("%s belongs to root, as whom PostgreSQL does not run, and this system allows no user namespace (%w): "+
			"run portillon as an ordinary user that owns the folder", dataDir, refused)
	}
	return ordinaryAccount()
}

func ordinaryAccount() (identity, error) {
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return identity{credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
		}
	}
	return identity{}, errors.New("PostgreSQL does not run as root, and there is neither a user namespace nor an account postgres or nobody: run portillon as an ordinary user")
}
