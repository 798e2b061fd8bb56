# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../engine/context"
require_relative "../../engine/outcome"
require_relative "server_figures"
require_relative "sockets"

module Tiercel
  module Lab
    module Tables
      module Capabilities
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
end
