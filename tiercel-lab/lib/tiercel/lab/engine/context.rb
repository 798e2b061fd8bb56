# frozen_string_literal: true

require "fileutils"
require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # The resources of a contestant while it is built: servers, folders, a limit.
      class Context
        # Room in stores that must be given a size: many times what a cell writes (stores divide their room, and few
        # large entries fill a part), between these bounds. (A segment reserves its room when it is made: that takes
        # time, and memory.)
        ROOMY_BYTES = (64 * 1024 * 1024)..(512 * 1024 * 1024)
        ROOM = 40
        # Beyond the upper bound too. With three times what is written one run in three lost one of 200 entries of
        # 822 KB: a segment of 512 MB has 64 parts, in which 3 of them lie and 8 have room.
        LEAST_ROOM = 6

        # @param options [Hash] servers, folders and label
        # @return [Context] with the room that an operation on a value needs
        def self.for(operation, value, **options)
          new(capacity_bytes: operation.capacity_bytes,
              written_bytes: value.approximate_bytes * operation.names_for(value), **options)
        end

        # @return [Integer] what stores with a size shall be limited to
        attr_reader :capacity_bytes

        # @param servers [Hash{String, Symbol => Hash}] by name: "url", "address" and the like
        # @param folders [Hash{String, Symbol => String}] the run's own folders by medium ("tmpfs", "disk")
        # @param label [String] distinguishes this arm's folder from others
        # @param capacity_bytes [Integer, nil] what stores shall be limited to; nil: room enough
        # @param written_bytes [Integer] roughly what will be written
        # @param shared [Boolean] whether another process's folder of the same label is this one's too
        def initialize(servers:, folders:, label:, capacity_bytes: nil, written_bytes: 0, shared: false)
          @shared = shared
          @servers = servers.to_h { |name, facts| [name.to_s, facts.transform_keys(&:to_s)] }
          @folders = folders.transform_keys(&:to_s)
          @label = label
          @made = []
          @capacity_bytes = capacity_bytes || roomy_bytes(written_bytes)
        end

        # @return [Hash{String => Object}]
        # @raise [CannotRun] if it could not be started
        def server(name)
          facts = @servers.fetch(name.to_s)
          raise CannotRun, facts["error"] if facts["error"]
          facts
        end

        # @return [Array<String>] of all servers
        def server_urls = @servers.values.filter_map { |facts| facts["url"] }

        def server_pids = @servers.values.filter_map { |facts| facts["pid"] }

        # @param place [String] a medium, or a folder of the user's
        # @return [String] an empty folder for this arm alone; where it is shared, the one that is there
        # @raise [CannotRun]
        def directory(place = "disk")
          path = path(place)
          return path if @shared && File.directory?(path)
          FileUtils.rm_rf(path)
          FileUtils.mkdir_p(path)
          @made |= [path] unless @shared
          path
        rescue SystemCallError => e
          raise CannotRun, "folder #{path}: #{e.message}"
        end

        # @return [Hash{String => String}] where its folders are or would be, by medium
        def paths = @folders.to_h { |medium, _folder| [medium, path(medium)] }

        # Removes the folders: on a tmpfs they are memory.
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
