# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Capabilities
      # Figures that a server reports. Its resident memory would be wrong, because a server keeps the memory of
      # deleted entries.
      module ServerFigures
        BYTES = { "memcached" => ["stats\r\n", /^STAT bytes (\d+)/, "END"],
                  "redis" => ["INFO memory\r\n", /^used_memory:(\d+)/, "mem_allocator"] }.freeze
        ITEMS = { "memcached" => ["stats\r\n", /^STAT curr_items (\d+)/, "END"] }.freeze
        SECONDS = 2

        module_function

        # @param url [String] memcached://HOST:PORT or redis://HOST:PORT/0
        # @return [Integer, nil] bytes that the server holds; nil for other servers, and for one that does not answer
        def bytes(url) = ask(url, BYTES)

        # @param url [String] memcached://HOST:PORT
        # @return [Integer, nil] entries that the server holds
        def items(url) = ask(url, ITEMS)

        def ask(url, questions)
          scheme, host, port = url.match(%r{\A(\w+)://([^:/]+):(\d+)})&.captures
          question, pattern, last = questions[scheme]
          return unless question
          Socket.tcp(host, Integer(port), connect_timeout: SECONDS) do |io|
            io.write(question)
            io.each_line.find { |line| (found = line[pattern, 1]) ? (return Integer(found)) : line.start_with?(last) }
            nil
          end
        rescue SystemCallError
          nil
        end
        private_class_method :ask
      end

      # Reads the open sockets, files and maps of processes from Linux (proc(5)).
      module Sockets
        TABLES = %w[/proc/self/net/tcp /proc/self/net/tcp6].freeze
        ESTABLISHED = "01"

        module_function

        # @param ports [Array<Integer>]
        # @return [Integer] TCP connections that this process holds to one of them
        def to_ports(ports)
          inodes = own_inodes
          TABLES.sum do |table|
            File.readlines(table).drop(1).map(&:split).count do |fields|
              fields[3] == ESTABLISHED && ports.include?(fields[2][/:(\h+)\z/, 1].hex) && inodes.include?(fields[9])
            end
          rescue SystemCallError
            0
          end
        end

        # @param path [String]
        # @return [Integer] bytes of all files below it
        def tree_bytes(path)
          Dir.glob("**/*", File::FNM_DOTMATCH, base: path).sum do |file|
            stat = File.lstat(File.join(path, file))
            stat.file? ? [stat.blocks.to_i * 512, stat.size].min : 0
          rescue SystemCallError
            0
          end
        end

        # @param folders [Array<String>]
        # @return [Array<String>] the folders with a file that this process has mapped
        def maps(folders)
          mapped = File.readlines("/proc/self/maps")
          folders.select { |folder| mapped.any? { |line| line.include?("#{folder}/") } }
        rescue SystemCallError
          []
        end

        def own_inodes
          Dir.glob("/proc/self/fd/*").filter_map do |link|
            File.readlink(link)[/\Asocket:\[(\d+)\]\z/, 1] if File.symlink?(link)
          end
        rescue SystemCallError
          []
        end
        private_class_method :own_inodes
      end

      # Tests one store in the process of a job ({Engine::Job}). Two such processes open the same store.
      class Probe
        # An object that counts how often it is serialized.
        class Specimen
          class << self
            # @return [Integer]
            attr_accessor :dumps
          end

          # @return [String]
          attr_accessor :word

          # @param word [String]
          def initialize(word) = @word = word

          # @private
          def marshal_dump
            Specimen.dumps = Specimen.dumps.to_i + 1
            @word
          end

          # @private
          def marshal_load(word) = @word = word
        end

        # A text of 300 KB, which exceeds the compression threshold of every store.
        TEXT = "All work and no play makes Jack a dull boy. " * 7_000
        # The number and size of the writes that show where a store keeps its entries.
        BULK_ITEMS = 64
        BULK_BYTES = 128 * 1024
        LOCAL_READS = 300

        # Keeps existing folders, because the first process may have already written to them.
        #
        # @return [Hash{String => Object}] an {Engine::Outcome}, with a "reason" if the store cannot be built
        def open(text:, servers:, folders:, label:)
          Engine::Outcome.of do
            @label = label
            @contestant = Contestants.parse(text)
            @contestant.load_gems
            @context = Engine::Context.new(servers:, folders:, label:, shared: true)
            @ports = @context.server_urls.filter_map { |url| url[/:(\d+)/, 1]&.to_i }
            @store = @contestant.build(@context)
          end
        end


        # @return [String, nil]
        def read(name:) = @store.read(name)

        # @return [Boolean]
        def write(name:, value:) = @store.write(name, value) ? true : false

        # @return [Hash] "mark" and "note"
        def serializes
          specimen = Specimen.new("first")
          Specimen.dumps = 0
          kept = @store.write("specimen", specimen)
          dumped = Specimen.dumps.positive?
          specimen.word = "changed"
          found = @store.read("specimen")
          return mark(:no, "it keeps nothing") unless kept && found
          return mark(:no, "a change of what was written shows in what is read") unless found.word == "first"
          dumped ? mark(:yes) : mark(:partly, "a copy is kept, not bytes")
        end

        # @return [Hash]
        def compression
          return mark(:no, "it keeps nothing") unless @store.write("text", TEXT) && @store.read("text") == TEXT
          return mark(:yes) if squeezed?("text")
          return mark(:no) unless @store.write("asked", TEXT, compress: true) && squeezed?("asked", compress: true)
          mark(:partly, "when asked to (`compress: true`), not by itself")
        end

        # @return [Hash]
        def remote = mark(Sockets.to_ports(@ports).positive? ? :yes : :no)

        # Finds where many written bytes went: into a folder, a server, or this process.
        #
        # @return [Hash] "mark" is nil, "words" say where
        def limited_by
          before = holders
          random = Random.new(1)
          # The names are unique, because a write over the entry of another store would not grow the server.
          BULK_ITEMS.times { |index| @store.write("#{@label}-bulk-#{index}", random.bytes(BULK_BYTES)) }
          grown = holders.map { |words, bytes| [words, bytes - before.fetch(words, 0)] }
          words, bytes = grown.find { |_words, more| more > BULK_ITEMS * BULK_BYTES / 2 }
          return { words: } if bytes
          return { words: "nothing is kept" } unless @store.read("#{@label}-bulk-0")
          { words: Sockets.maps(@context.paths.values).any? ? "memory (a mapped file)" : "memory of the process" }
        end

        # Times a read of a small String with and without the request-local cache of Rails, in turn.
        #
        # @param blocks [Integer]
        # @return [Hash] us of each block, by "off" and "on"; empty for a store without such a cache
        def local_cost(blocks:)
          return {} unless @store.respond_to?(:with_local_cache)
          @store.write("local", "value")
          figures = { off: [], on: [] }
          (blocks + 1).times do |block|
            off, on = read_us, @store.with_local_cache { read_us }
            figures[:off] << off and figures[:on] << on unless block.zero?
          end
          figures
        end

        # Reads within the request-local cache, before and after another process changes the entry.
        #
        # @return [void]
        def local_begin
          return unless @store.respond_to?(:with_local_cache)
          middle = Fiber.new do
            @store.with_local_cache do
              first = @store.read("shared")
              Fiber.yield first
              @store.read("shared")
            end
          end
          @second_read = middle
          middle.resume
        end

        # @return [String, nil]
        def local_end = @second_read&.resume

        # @return [Integer] number of keys that were written with a common prefix
        def spread(count:)
          count.times { |index| @store.write("spread-#{index}", "value") }
          count
        end

        # @return [void]
        def close
          @contestant.tear_down(@store, [])
        rescue StandardError
          nil # The run's folder contains this one, and is removed later.
        end

        private

        def mark(mark, note = nil) = { mark:, note: }

        def squeezed?(name, **options)
          own_options = options.any? && !@contestant.text.start_with?("tiercel")
          bytes = own_options ? entry_bytes(options) : @contestant.stored_bytes(@store, name, TEXT)
          bytes && bytes < TEXT.bytesize / 2
        end

        def entry_bytes(options)
          @store.send(:serialize_entry, ActiveSupport::Cache::Entry.new(TEXT),
                      **@store.send(:merged_options, options)).bytesize
        end

        # Folders come first: the pages of a file may also count as memory of a process.
        def holders
          folders = @context.paths.to_h do |name, path|
            [name == "tmpfs" ? "memory (files on a tmpfs)" : "disk", Sockets.tree_bytes(path)]
          end
          servers = @context.server_urls.filter_map { |url| ServerFigures.bytes(url) }
                            .map { |bytes| ["memory of the server", bytes] }
          databases = @context.server_pids.filter_map do |pid|
            (folder = data_folder(pid)) && ["disk of the server", Sockets.tree_bytes(folder)]
          end
          folders.merge(servers.to_h, databases.to_h)
        end

        # A database server runs in its data folder.
        def data_folder(pid)
          folder = File.readlink("/proc/#{pid}/cwd")
          folder if File.exist?(File.join(folder, "PG_VERSION"))
        rescue SystemCallError
          nil
        end

        def read_us
          started = Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond)
          LOCAL_READS.times { @store.read("local") }
          (Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond) - started) / LOCAL_READS
        end
      end
    end
  end
end
