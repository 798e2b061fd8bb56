# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The temporary folders of a run, one on a tmpfs and one on a disk. The run removes them at its end, and the
    # folders of killed runs at its start.
    class Scratch
      NAME = "tiercel-lab-run"
      TMPFS = "/dev/shm"

      # @return [Hash{String => String}] by medium: "tmpfs" (if the machine has one) and "disk"
      attr_reader :folders

      # @param tmpfs [String] a folder on a tmpfs; the variable TIERCEL_LAB_TMPFS overrides it
      # @param disk [String] a folder on a disk; the variable TIERCEL_LAB_DISK overrides it
      # @raise [UsageError] if the disk's folder cannot be created, or the variable's tmpfs does not exist
      def initialize(tmpfs: tmpfs_folder, disk: ENV.fetch("TIERCEL_LAB_DISK") { UserFolders.cache })
        make(disk)
        @folders = { "tmpfs" => tmpfs, "disk" => disk }.filter_map do |medium, folder|
          next unless File.directory?(folder) && File.writable?(folder)
          sweep(folder)
          [medium, Dir.mktmpdir("#{NAME}-#{Process.pid}-", folder)]
        end.to_h
      end

      # @return [void]
      def remove = folders.each_value { |folder| FileUtils.rm_rf(folder) }

      private

      def tmpfs_folder
        named = ENV.fetch("TIERCEL_LAB_TMPFS", nil)
        named ? Folder.check("TIERCEL_LAB_TMPFS", named) : TMPFS
      end

      # By default the user's cache folder, because the temporary folder is a tmpfs on many machines.
      def make(disk)
        FileUtils.mkdir_p(disk)
      rescue SystemCallError => e
        raise UsageError, "the folder #{disk} cannot be created: #{Folder.reason(e)}; TIERCEL_LAB_DISK names another"
      end

      def sweep(folder)
        Dir.glob(File.join(folder, "#{NAME}-*")).each do |path|
          pid = File.basename(path)[/\A#{NAME}-(\d+)-/o, 1].to_i
          FileUtils.rm_rf(path) if pid.positive? && gone?(pid)
        end
      end

      def gone?(pid)
        Process.kill(0, pid)
        false
      rescue Errno::ESRCH
        true
      rescue Errno::EPERM
        false
      end
    end

    # The servers of one run. A server starts when the first contestant needs it, on a free loopback port, and stops
    # at the end.
    class ServerPool
      # Enough for all of the lab's values at once, so that nothing is evicted.
      MEMORY_MB = 1024
      LARGEST_ITEM = "8m"

      # @param pinning [Pinning]
      def initialize(pinning:)
        @pinning = pinning
        @servers = {}
        @facts = {}
      end

      # @param names [Array<Symbol>]
      # @return [Hash{String => Hash}] for each server: "url", "address", "version", or "error" with a command that
      #   helps
      def facts(names)
        names.to_h { |name| [name.to_s, @facts[name] ||= start(name)] }
      end

      # @return [Array<Hash{String => Object}>] the running servers, for the results
      def describe = @facts.map { |name, facts| { "name" => name.to_s }.merge(facts) }

      # @return [void]
      def stop
        @servers.each_value(&:stop)
        @servers.clear
        @facts.clear
      end

      private

      def start(name)
        require_relative "../servers"
        server = build(name)
        server.start
        @servers[name] = server
        { "url" => server.url, "address" => (server.address if server.respond_to?(:address)),
          "version" => (server.version if server.respond_to?(:version)),
          "pid" => (server.pid if server.respond_to?(:pid)) }.compact
      rescue Servers::Error => e
        { "error" => e.message.lines.first.strip }
      end

      def build(name)
        case name
        when :memcached
          Servers::Memcached.new(memory_mb: MEMORY_MB, max_item: LARGEST_ITEM, cpu: @pinning.server_cpu)
        when :memcached_as_shipped then Servers::Memcached.new(cpu: @pinning.server_cpu)
        when :redis then Servers::Redis.new(cpu: @pinning.server_cpu)
        when :redis_cluster then Servers::RedisCluster.new
        when :postgresql then Servers::PostgreSQL.new(cpu: @pinning.server_cpu)
        else
          raise UsageError, "server #{name.inspect}: expected memcached, memcached_as_shipped, redis, " \
                            "redis_cluster or postgresql"
        end
      end
    end

    # A measurement without slices. A trial starts servers, folders and processes of its own and fills rows that have
    # a status.
    #
    # @abstract Subclasses implement {#measure}, and fill {#rows}.
    class Trial
      # @return [Array<Hash{String => Object}>] a row has "status" and "reason", and figures
      attr_reader :rows

      # @param design [Object, nil] the plan of the measurement
      # @param requires [Array<String>] files with contestants of the user's
      def initialize(design = nil, seed:, requires: [], pinning: Pinning.new)
        @design = design
        @seed = seed
        @requires = requires
        @pinning = pinning
        @rows = []
      end

      # @param progress [#advance, #say]
      def run(progress)
        @progress = progress
        @pool = ServerPool.new(pinning: @pinning)
        @scratch = Scratch.new
        measure
      ensure
        @servers = @pool&.describe
        @pool&.stop
        @scratch&.remove
      end

      # @return [Array<Hash>] the started servers, after {#run}
      def servers = @servers || []

      private

      def measure = raise(NotImplementedError)

      # @return [Job] started
      # @raise [CannotRun] if its bundle cannot be installed
      def job(path, bundle: nil, pinning: @pinning)
        bundle = Bundle.new(bundle) unless bundle.is_a?(Bundle)
        bundle.install(progress: @progress)
        Job.new(path, bundle:, pinning:, requires: @requires).start
      end

      # @return [Hash] see {Context#initialize}
      def context(contestant, label, **more)
        { servers: @pool.facts(contestant.servers), folders: @scratch.folders, label:, **more }
      end

      def blank(**facts) = facts.transform_keys(&:to_s).merge("status" => Outcome::MEASURED, "reason" => nil)

      def measured?(row) = Outcome.measured?(row)

      def note(row, outcome) = Outcome.note(row, outcome)

      # Every second process reverses the order of the process before.
      def in_turn(list, process)
        Slots.order(list.each_index.to_a, process:, seed: @seed).map { |index| list[index] }
      end
    end
  end
end
