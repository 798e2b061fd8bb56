# frozen_string_literal: true

require "fiddle"

module Tiercel::Lab
  module Tables
    module Switch
      # Builds a store in a separate process, forks workers that read and write the same entries, and adds up the memory
      # of the workers.
      class Memory
        # Number of reads of every entry by each worker, so that a store which keeps values in the process has kept
        # them.
        PASSES = 2
        # Every store has room for all entries and no more than an application gives it.
        CAPACITY_BYTES = 32 * 1024 * 1024

        # @return [Hash] an outcome with "bytes" of all workers, "trimmed" (after freed memory was returned), "grown"
        #   (by their entries, after that) and "server_bytes"
        def hold(text:, value:, entries:, workers:, seed:, context:)
          Engine::Outcome.of do
            context = Engine::Context.new(**context, capacity_bytes: CAPACITY_BYTES)
            contestant = Contestants.parse(text)
            contestant.load_gems
            objects = Values.from_spec(value).generate(seed)
            server_pids = context.server_pids(contestant.servers)
            server = server_bytes(server_pids)
            Process.warmup if Process.respond_to?(:warmup)
            forked = []
            workers.times do
              inherited = forked.flat_map(&:pipes)
              forked << Engine::ArmProcess.new(inherited, seconds: Engine::Protocol::JOB_SECONDS) do
                Worker.new(contestant, context, objects, entries)
              end
              forked.last.call(:build)
            end
            before = memory_of(forked)
            # The first worker to reach an entry writes it, and all workers read it.
            forked.map { |one| Thread.new { one.call(:fill) } }.each(&:value)
            bytes = memory_of(forked)
            forked.each { |one| one.call(:trim) }
            trimmed = memory_of(forked)
            { bytes:, trimmed:, grown: trimmed && (trimmed - before),
              server_bytes: server && (server_bytes(server_pids) - server) }
          ensure
            forked.to_a.reverse_each(&:stop)
            context.clean_up
          end
        end

        private

        def memory_of(forked)
          bytes = forked.map { |one| one.call(:bytes) }
          bytes.sum if bytes.all?
        end

        def server_bytes(pids) = pids.any? ? Engine::ResidentMemory.bytes(pids) : nil

        # A worker of the application.
        class Worker
          def initialize(contestant, context, objects, entries)
            @contestant = contestant
            @context = context
            @objects = objects
            @entries = entries
          end

          def build
            @store = @contestant.build(@context)
            trim
          end

          def fill
            @names = Array.new(@entries) { |index| "entry:#{index}" }
            PASSES.times do
              @names.each_with_index do |name, index|
                @store.read(name) || @store.write(name, "#{@objects[index % @objects.size]}#{index}")
              end
            end
            nil
          end

          # Returns freed memory to the system. The copies that reads return are garbage by now, and do not belong to a
          # store.
          def trim
            3.times { GC.start }
            Fiddle::Function.new(Fiddle.dlopen(nil)["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).call(0)
          rescue Fiddle::DLError
            nil # only glibc has it
          end

          def bytes = Engine::ResidentMemory.bytes([Process.pid])
        end
      end
    end
  end
end
