// Every attack of the hostile guest: the function, which is also the key that
// starts it, what it does, and what it may get: what the guest reports, or the
// code of a refusal. The host says `not-permitted` about everything that is not
// granted, whether it exists or not.
//
// The guest and the tests include this file, each with an `attacks!` of its own:
// the guest calls the function, the tests run it. An attack that is not here is
// not reachable; one that has no function or no promise does not compile.
attacks! {
    reads {
        parent_paths: "opens `..` in 20 spellings" => "40 not-permitted";
        absolute_paths: "opens absolute paths, the real ones of the file and of the map among them" => "22 not-permitted";
        proc_self: "opens `/proc/self`, `/dev/fd` and links to them" => "20 not-permitted";
        symbolic_links: "opens files through absolute, relative and chained links, following them and not" => "14 not-permitted";
        directory_links: "opens files through links to directories" => "16 not-permitted";
        trailing_slashes: "opens links with `/`, `/.` and `//` behind them, as files and as directories" => "100 not-permitted";
        link_loops: "opens links to themselves and to each other, and 50 in a row" => "12 not-permitted";
        odd_names: "opens names with NUL, no name, and names too long" => "18 not-permitted";
        subdirectory: "opens its own directory, and those in it" => "12 not-permitted";
        below_the_file: "opens paths below the granted file, as if it were a directory" => "8 not-permitted";
        prefix_sibling: "opens files in `notes-private` beside its own `notes`" => "8 not-permitted";
        other_keys_directory: "opens the directory and the file of another key" => "8 not-permitted";
        the_map: "opens the map, by relative and by absolute path" => "8 not-permitted";
        stat_outside: "asks for type, size and hash of all of these" => "26 not-permitted";
        read_link_targets: "reads where links lead" => "5 not-permitted";
        link_inside: "follows a link that stays in its directory" => "2 not-permitted";
        neighbour_file: "asks for the file next to the granted one, and for one that is not there" => "12 not-permitted";
        otherwise_opened: "opens the granted file in every way but the one that is granted" => "11 not-permitted";
        // For the granted name, and for the file that it opened.
        access_times: "asks when the file, its directory and its neighbour were last read" => "2 no time, 2 not-permitted";
        about_the_file: "asks for links, identity, flags, type and hash of what it has open" => "1 1 link, 11 not-permitted, 2 same: false";
        what_is_preopened: "asks which directories it has, and for their names" => "1 /";
        find_other_keys: "asks `find` for other keys, near and far" => "1 granted.md (its own), 9 nothing";
        // `internal` shows that it found nothing: a directory or a grant would give `not-a-file`
        // or `not-found`. Its text is refused because, without a grant, the limit is 0 bytes.
        without_grant: "does all it can for a key that is not in the map" => "`internal`";
    }
    writes {
        create_file: "creates a file" => "6 not-permitted";
        truncate_file: "truncates the granted file when opening it, and through the handle" => "4 not-permitted";
        write_file: "opens the granted file for writing, and writes to the handle it has" => "4 not-permitted";
        rename_file: "renames the granted file, and moves it away" => "4 not-permitted";
        link_file: "makes a hard link" => "3 not-permitted";
        symlink_file: "makes a symbolic link" => "3 not-permitted";
        make_directory: "makes a directory" => "3 not-permitted";
        unlink_file: "deletes the granted file" => "4 not-permitted";
        remove_directory: "deletes a directory" => "3 not-permitted";
        set_times: "sets times of the file and of its directory" => "5 not-permitted";
        mutate_directory: "opens its directory with leave to change it" => "not-permitted";
        write_outside: "creates, deletes and renames outside of its directory" => "7 not-permitted";
    }
    resources {
        endless_loop: "computes for ever" => "`timed-out`";
        endless_calls: "calls the host for ever" => "`timed-out`";
        endless_read: "reads the file byte by byte, for ever" => "`timed-out`";
        blocked_open: "opens a FIFO that nobody writes to" => "not-permitted";
        memory_step_by_step: "grows its memory until it is refused" => "`internal`";
        memory_at_once: "grows its memory by 4 GiB" => "`internal`";
        file_handles: "opens the file until it is refused" => "`internal`";
        preopen_handles: "asks for its directory until it is refused" => "`internal`";
        endless_lists: "lists its directory 10,000 times" => "10000 not-permitted";
        thousands_of_opens: "opens and closes the granted file 3,000 times" => "3000 read \"granted\"";
        huge_read: "reads with lengths and offsets of up to 2^64 - 1" => "2 its own file, 3 nothing";
        huge_path: "hands the host a path of 2 MiB" => "`internal`";
        huge_key: "asks `find` for a key of 2 MiB" => "`internal`";
        long_answer: "returns more than the grant's limit" => "`internal`";
        trap_in_the_middle: "stops with a trap while it has handles open" => "`internal`";
        state_between_calls: "keeps what it learned for the next call" => "0 calls before this one";
    }
}
