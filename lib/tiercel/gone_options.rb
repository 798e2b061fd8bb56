# frozen_string_literal: true

module Tiercel
  # Options of earlier versions, with their replacements. The configuration looks here before it reports an unknown
  # option, so this list must contain every option that the code no longer knows.
  #
  # @private
  module GoneOptions
    INSTEAD = {
      average_entry_bytes: "remove it: the index fits entries of every usual size; `size:` bounds the bytes",
      clear: "remove it: `clear` deletes the keys of a namespace",
      clear_visibility: "remove it: every process sees a `clear` at once",
      driver: "remove it: Tiercel speaks the protocol of Redis itself, and needs no gem for it",
      early_refresh: "use a shorter `expires_in:` with `stale_while_revalidate:`",
      fast_path: "remove it: all calls take one path",
      fetch_timeout: "use `stale_while_revalidate:` with `refresh: :background`, and the timeout of the client that " \
                     "the block calls",
      keepalive: "remove it: connections are checked when they are used",
      legacy: "remove it: entries of Rails' stores are read, except with `marshal: false`",
      max_entries: "use `size: \"256MB\"`",
      mmap_size: "remove it: the default serves every file",
      mode: "remove it: only the user who creates the segment may use it",
      page_size: "remove it: the default serves every file",
      pool_size: "use `pool: { size: 10 }`, or `pool=10` in a URL",
      pool_timeout: "use `pool: { timeout: SECONDS }`",
      rcvbuf: "remove it: the kernel sizes socket buffers",
      shards: "remove it: the size of the segment decides it",
      sndbuf: "remove it: the kernel sizes socket buffers",
      ssl_context: "use `ssl: CONTEXT`",
      synchronous: "remove it: SQLite's NORMAL is always used",
    }.freeze

    # @param names [Array<Symbol>] options that no part of the store knows
    # @return [void]
    # @raise [ConfigurationError] if one of them is an option of an earlier version
    def self.refuse(names)
      gone = names.uniq.filter_map { |name| INSTEAD[name] && "#{name}: #{INSTEAD[name]}" }
      raise ConfigurationError, "this version has no option #{gone.join(". It has no option ")}" if gone.any?
    end
  end
end
