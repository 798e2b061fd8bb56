# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Capabilities
      # Tests one store. Two such processes open the same store.
      class Probe < Load::Client
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
        # TCP connections of this process (proc(5)).
        SOCKETS = %w[/proc/self/net/tcp /proc/self/net/tcp6].freeze
        ESTABLISHED = "01"

        # @param context [Hash] see {Engine::Context#initialize}
        # @return [Hash{String => Object}] an {Engine::Outcome}
        def open(text:, context:)
          Engine::Outcome.of { build(text, context) && {} }
        end

        # @return [String, nil]
        def read(name:) = store.read(name)

        # @return [Boolean]
        def write(name:, value:) = store.write(name, value) ? true : false

        # @return [Hash] "mark" and "note"
        def serializes
          specimen = Specimen.new("first")
          Specimen.dumps = 0
          kept = store.write("specimen", specimen)
          dumped = Specimen.dumps.positive?
          specimen.word = "changed"
          found = store.read("specimen")
          return mark(:no, "it keeps nothing") unless kept && found
          return mark(:no, "a change of what was written shows in what is read") unless found.word == "first"
          dumped ? mark(:yes) : mark(:partly, "a copy is kept, not bytes")
        end

        # @return [Hash]
        def compression
          return mark(:no, "it keeps nothing") unless store.write("text", TEXT) && store.read("text") == TEXT
          return mark(:yes) if squeezed?("text")
          return mark(:no) unless store.write("asked", TEXT, compress: true) && squeezed?("asked", compress: true)
          mark(:partly, "when asked to (`compress: true`), not by itself")
        end

        # @return [Hash]
        def remote = mark(connected? ? :yes : :no)

        # Reads within the request-local cache, before and after another process changes the entry.
        #
        # @return [void]
        def local_begin
          return unless store.respond_to?(:with_local_cache)
          middle = Fiber.new do
            store.with_local_cache do
              first = store.read("shared")
              Fiber.yield first
              store.read("shared")
            end
          end
          @second_read = middle
          middle.resume
        end

        # @return [String, nil]
        def local_end = @second_read&.resume

        private

        def contestant = subject.contestant

        def mark(mark, note = nil) = { mark:, note: }

        def squeezed?(name, **options)
          own_options = options.any? && !contestant.text.start_with?("tiercel")
          bytes = own_options ? entry_bytes(options) : contestant.stored_bytes(store, name, TEXT)
          bytes && bytes < TEXT.bytesize / 2
        end

        def entry_bytes(options)
          store.send(:serialize_entry, ActiveSupport::Cache::Entry.new(TEXT),
                      **store.send(:merged_options, options)).bytesize
        end

        # Returns whether this process holds a connection to one of the store's servers.
        def connected?
          ports = subject.context.server_urls.filter_map { |url| url[/:(\d+)/, 1]&.to_i }
          links = Dir.glob("/proc/self/fd/*").select { |link| File.symlink?(link) }
          inodes = links.filter_map { |link| File.readlink(link)[/\Asocket:\[(\d+)\]\z/, 1] }
          SOCKETS.select { |table| File.exist?(table) }.flat_map { |table| File.readlines(table).drop(1).map(&:split) }
                 .any? do |fields|
            fields[3] == ESTABLISHED && ports.include?(fields[2][/:(\h+)\z/, 1].hex) && inodes.include?(fields[9])
          end
        rescue SystemCallError
          false
        end
      end
    end
  end
end
