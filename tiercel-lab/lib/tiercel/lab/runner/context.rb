# frozen_string_literal: true

require "fileutils"
require_relative "../errors"

module Tiercel
  module Lab
    module Runner
      # What a contestant may use while it is built: servers, folders, a limit.
      class Context
        # Room in stores that must be given a size: many times what a cell writes (stores divide their room, and few
        # large entries fill a part), between these bounds. (A segment reserves its room when it is made: that takes
        # time, and memory.)
        ROOMY_BYTES = (64 * 1024 * 1024)..(512 * 1024 * 1024)
        ROOM = 40

        # @return [Integer] what stores with a size shall be limited to
        attr_reader :capacity_bytes

        # @param servers [Hash{String => Hash}] by name: "url", "address" and the like
        # @param folders [Hash{String => String}] the run's own folders by medium ("tmpfs", "disk")
        # @param label [String] distinguishes this arm's folder from others
        # @param capacity_bytes [Integer, nil] what they shall be limited to; nil: room enough
        # @param written_bytes [Integer] roughly what will be written
        # @param shared [Boolean] whether other processes use the same folder: it is then neither emptied nor removed
        def initialize(servers:, folders:, label:, capacity_bytes: nil, written_bytes: 0, shared: false)
          @shared = shared
          @servers = servers
          @folders = folders
          @label = label
          @made = []
          @capacity_bytes = capacity_bytes || (ROOM * written_bytes).clamp(ROOMY_BYTES)
        end

        # @param name [Symbol]
        # @return [Hash{String => Object}] of the running server
        # @raise [CannotRun] with what to type, if it could not be started
        def server(name)
          facts = @servers.fetch(name.to_s)
          raise CannotRun, facts["error"] if facts["error"]
          facts
        end

        # @return [Array<Integer>] processes of the servers that the lab has started
        def server_pids = @servers.values.filter_map { |facts| facts["pid"] }

        # @param place [String] "tmpfs", "disk", or a folder, in which one is made
        # @return [String] an empty folder of this arm's own; a shared one as it is
        # @raise [CannotRun] if there cannot be one
        def directory(place = "disk")
          parent = @folders[place.empty? ? "disk" : place] || (place if place.start_with?("/", ".", "~"))
          raise CannotRun, "there is no #{place} here; file_store:DIR takes any folder" unless parent
          path = File.join(File.expand_path(parent), "tiercel-lab-#{@label}")
          FileUtils.rm_rf(path) unless @shared
          FileUtils.mkdir_p(path)
          @made |= [path] unless @shared
          path
        rescue SystemCallError => e
          raise CannotRun, "folder #{path}: #{e.message}"
        end

        # Removes the folders: on a tmpfs they are memory.
        #
        # @return [void]
        def clean_up
          @made.each { |path| FileUtils.rm_rf(path) }
          @made.clear
        end
      end
    end
  end
end
