# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Which CPU does what. Two workers of the same code differed by 16 to
      # 30 % when the kernel moved them about, and by 2 to 3 % when pinned.
      class Pinning
        # @return [Integer, nil] of workers; nil: not pinned
        attr_reader :worker_cpu
        # @return [Integer, nil] of servers
        attr_reader :server_cpu

        # @param cpus [Array<Integer>] that this process may use
        # @param taskset [Boolean] whether the program is there
        def initialize(cpus: Pinning.allowed_cpus, taskset: Pinning.taskset?)
          return unless taskset && cpus.size > 1
          # The last CPU of some machines is a slow one, and the first takes the interrupts: the second is for the
          # workers, the first for the servers.
          @worker_cpu = cpus[1]
          @server_cpu = cpus[0]
        end

        # @return [Array<String>] to put before a worker's command
        def worker_prefix = worker_cpu ? ["taskset", "--cpu-list", worker_cpu.to_s] : []

        # @return [String]
        def to_s
          worker_cpu ? "workers on CPU #{worker_cpu}, servers on CPU #{server_cpu}" : "not pinned"
        end

        # @return [Array<Integer>]
        def self.allowed_cpus
          list = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(.*)$/, 1]
          list.split(",").flat_map { |part| Range.new(*part.split("-").map(&:to_i).values_at(0, -1)).to_a }
        rescue SystemCallError, NoMethodError
          []
        end

        # @return [Boolean]
        def self.taskset?
          ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).any? do |folder|
            File.executable?(File.join(folder, "taskset"))
          end
        end
      end
    end
  end
end
