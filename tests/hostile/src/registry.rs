// Every attack of the hostile guest: the function, which is also the key that
// starts it, and what it does. The guest and the tests include this file, each
// with an `attacks!` of its own: the guest calls the function, the tests run it
// and say what it may get. An attack that is not here is not reachable; one that
// has no function or no promise does not compile.
attacks! {
    reads {
        parent_paths: "opens `..` in 20 spellings";
        absolute_paths: "opens absolute paths, the real ones of the file and of the map among them";
        proc_self: "opens `/proc/self`, `/dev/fd` and links to them";
        symbolic_links: "opens files through absolute, relative and chained links, following them";
        symbolic_links_unfollowed: "opens the same links, not following them";
        directory_links: "opens files through links to directories";
        trailing_slashes: "opens links with `/`, `/.` and `//` behind them, as files and as directories";
        link_loops: "opens links to themselves and to each other, and 50 in a row";
        odd_names: "opens names with NUL, no name, and names too long";
        subdirectory: "opens its own directory, and those in it";
        below_the_file: "opens paths below the granted file, as if it were a directory";
        prefix_sibling: "opens files in `notes-private` beside its own `notes`";
        other_keys_directory: "opens the directory and the file of another key";
        the_map: "opens the map, by relative and by absolute path";
        stat_outside: "asks for type, size and hash of all of these";
        read_link_targets: "reads where links lead";
        link_inside: "follows a link that stays in its directory";
        own_directory: "lists its directory";
        neighbour_file: "asks for the file next to the granted one, and for one that is not there";
        otherwise_opened: "opens the granted file in every way but the one that is granted";
        access_times: "asks when the file, its directory and its neighbour were last read";
        about_the_file: "asks for links, identity, flags, type and hash of what it has open";
        find_other_keys: "asks `find` for other keys, near and far";
        without_grant: "does all it can for a key that is not in the map";
    }
    writes {
        create_file: "creates a file";
        truncate_file: "truncates the granted file when opening it, and through the handle";
        write_file: "opens the granted file for writing, and writes to the handle it has";
        rename_file: "renames the granted file, and moves it away";
        link_file: "makes a hard link";
        symlink_file: "makes a symbolic link";
        make_directory: "makes a directory";
        unlink_file: "deletes the granted file";
        remove_directory: "deletes a directory";
        set_times: "sets times of the file and of its directory";
        mutate_directory: "opens its directory with leave to change it, and writes there";
        write_outside: "creates, deletes and renames outside of its directory";
    }
    resources {
        endless_loop: "computes for ever";
        endless_calls: "calls the host for ever";
        endless_read: "reads the file byte by byte, for ever";
        blocked_open: "opens a FIFO that nobody writes to";
        memory_step_by_step: "grows its memory until it is refused";
        memory_at_once: "grows its memory by 4 GiB";
        file_handles: "opens the file until it is refused";
        preopen_handles: "asks for its directory until it is refused";
        endless_lists: "lists its directory 10,000 times";
        thousands_of_opens: "opens and closes the granted file 3,000 times";
        huge_read: "reads with lengths and offsets of up to 2^64 - 1";
        huge_path: "hands the host a path of 2 MiB";
        huge_key: "asks `find` for a key of 2 MiB";
        long_answer: "returns more than the grant's limit";
        trap_in_the_middle: "stops with a trap while it has handles open";
        state_between_calls: "keeps what it learned for the next call";
    }
}
