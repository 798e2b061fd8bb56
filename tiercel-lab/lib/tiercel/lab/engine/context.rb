# frozen_string_literal: true

require "fileutils"
require_relative "../errors"
require_relative "../folder"

module Tiercel
  module Lab
    module Engine
      # The resources of a contestant: servers, folders, and a memory limit.
      class Context
        # The size of stores that need one lies between these bounds. It is many times the written bytes, because stores
        # divide their room into parts, and a few large entries fill a part. It has an upper bound because a segment
        # reserves its whole room at once.
        ROOMY_BYTES = (64 * 1024 * 1024)..(512 * 1024 * 1024)
        ROOM = 40
        # The size is at least this multiple of the written bytes. A multiple of 3 is not enough: with 200 entries of
        # 822 KB, one run in three evicted an entry, because a segment of 512 MB has 64 parts and each part has room for
        # only 8 such entries.
        LEAST_ROOM = 6

        # @param options [Hash] servers, folders and label
        # @return [Context] a context with enough room for the operation's values
        def self.for(operation, value, **options)
          new(capacity_bytes: operation.capacity_bytes,
              written_bytes: value.approximate_bytes * operation.names_for(value), **options)
        end

        # @return [Integer] the size of stores that need one
        attr_reader :capacity_bytes

        # @param servers [Hash{String, Symbol => Hash}] by name: "url", "address" and the like
        # @param folders [Hash{String, Symbol => String}] the run's folders by medium ("tmpfs", "disk")
        # @param label [String] distinguishes this arm's folder from the folders of other arms
        # @param capacity_bytes [Integer, nil] the size of stores; nil: enough for everything
        # @param written_bytes [Integer] an estimate
        # @param shared [Boolean] whether processes with the same label share the folder
        def initialize(servers:, folders:, label:, capacity_bytes: nil, written_bytes: 0, shared: false)
          @shared = shared
          @servers = servers.to_h { |name, facts| [name.to_s, facts.transform_keys(&:to_s)] }
          @folders = folders.transform_keys(&:to_s)
          @label = label
          @made = []
          @capacity_bytes = capacity_bytes || roomy_bytes(written_bytes)
        end

        # @return [Hash{String => Object}]
        # @raise [CannotRun] if the server did not start
        def server(name)
          facts = @servers.fetch(name.to_s)
          raise CannotRun, facts["error"] if facts["error"]
          facts
        end

        # @return [Array<String>] URLs of all servers
        def server_urls = @servers.values.filter_map { |facts| facts["url"] }

        # @param names [Array<String, Symbol>] some servers; all of them by default
        # @return [Array<Integer>] of those that the lab started
        def server_pids(names = @servers.keys) = names.filter_map { |name| @servers.dig(name.to_s, "pid") }

        # @param place [String] a medium, or a folder of the user's
        # @return [String] an empty folder for this arm alone, or the existing one if it is shared
        # @raise [CannotRun]
        def directory(place = "disk")
          path = path(place)
          return path if @shared && File.directory?(path)
          FileUtils.rm_rf(path)
          FileUtils.mkdir_p(path)
          @made |= [path] unless @shared
          path
        rescue SystemCallError => e
          raise CannotRun, "folder #{path}: #{Folder.reason(e)}"
        end

        # @return [Hash{String => String}] folders by medium; they need not exist
        def paths = @folders.to_h { |medium, _folder| [medium, path(medium)] }

        # Removes the folders. Folders on a tmpfs occupy memory.
        def clean_up
          @made.each { |path| FileUtils.rm_rf(path) }
          @made.clear
        end

        private

        def roomy_bytes(written) = [(ROOM * written).clamp(ROOMY_BYTES), LEAST_ROOM * written].max

        def path(place)
          parent = @folders[place.empty? ? "disk" : place] || (place if place.start_with?("/", ".", "~"))
          raise CannotRun, "there is no #{place} here; file_store:DIR takes any folder" unless parent
          File.join(File.expand_path(parent), "tiercel-lab-#{@label}")
        end
      end
    end
  end
end
