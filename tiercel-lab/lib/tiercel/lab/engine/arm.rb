# frozen_string_literal: true

require_relative "../errors"
require_relative "protocol"
require_relative "server_cpu"

module Tiercel
  module Lab
    module Engine
      # One contestant with one operation in a worker process: the built store, its keys, and the compiled loop.
      class Arm
        # @return [Integer] number within the comparison
        attr_reader :id
        # @return [Contestant]
        attr_reader :contestant
        # @return [Operation]
        attr_reader :operation
        # @return [Array<Object>] shared by all arms
        attr_reader :values
        # @return [Array<String>] keys that the timed loop passes; equal to the written keys, but other objects
        attr_reader :names

        # @param id [Integer]
        # @param contestant [Contestant]
        # @param operation [Operation]
        # @param value [Value]
        # @param values [Array<Object>]
        # @param prefix [String] prefix of every name, equally long for every arm
        # @param context [Context]
        def initialize(id:, contestant:, operation:, value:, values:, prefix:, context:)
          @id = id
          @contestant = contestant
          @operation = operation
          @value = value
          @values = values
          @context = context
          @names = Array.new(operation.names_for(value)) { |index| format("%s:%06d", prefix, index) }
        end

        # @return [Object] the store or backend that the contestant built
        def store = @store ||= build

        # @return [Integer] names that a loop goes through
        def count = names.size

        # @return [Object] additional arguments that the operation prepared
        def inputs = @inputs ||= operation.inputs(self)

        # Builds the store, fills it, and compiles the loop.
        #
        # @return [void]
        # @raise [CannotRun]
        def prepare
          unless contestant.kind == operation.kind
            raise CannotRun,
              "#{operation.name} works on a #{operation.kind}, #{contestant.text} is a #{contestant.kind}"
          end
          store
          inputs
          operation.setup(self)
          @loop = compile
        end

        # Writes every value under its key. The key is another String than {#names} holds.
        #
        # @return [void]
        # @raise [WrongValue] if the store refuses a value
        def fill(**options)
          contestant.filling(store, count) do
            each_pair do |name, value|
              next if store.write(name.dup, value, **options) || !contestant.keeps?
              raise WrongValue, "write of #{@value.name} was refused"
            end
          end
        end

        # @param limit [Integer]
        # @yieldparam name [String]
        # @yieldparam value [Object]
        def each_pair(limit = count)
          return to_enum(:each_pair, limit) unless block_given?
          names.first(limit).each_with_index { |name, index| yield name, values[index % values.size] }
        end

        # @param value [Object] the written value
        # @param found [Object, nil] the value that the store returned
        # @return [void]
        # @raise [Missed, WrongValue]
        def expect(value, found)
          raise Missed, "a read of a written name found nothing" if found.nil?
          unless @value.same?(value, found)
            raise WrongValue, "a read returned another value than the written one (a #{found.class})"
          end
        end

        # @return [void]
        # @raise [Missed, WrongValue]
        def verify
          return unless contestant.keeps?
          operation.verify(self)
          missed = @loop.misses
          raise Missed, "#{missed} of the timed calls found nothing" if missed.positive?
        end

        # Runs the timed loop.
        #
        # @param calls [Integer]
        # @return [void]
        def run(calls) = @loop.run(calls)

        # Counts the objects that one call allocates, without those of the loop.
        #
        # @return [Float]
        def allocations
          calls = operation.prepared? ? Protocol::ALLOCATION_CALLS : [Protocol::ALLOCATION_CALLS, count].max
          calls = 1 if @value.large?
          # The first call may allocate objects lazily, so it is not counted.
          objects_of(1)
          # Other code of the process allocates now and then, never less than nothing: the least of three passes counts.
          nothing, all = [0, calls].map { |number| Array.new(3) { objects_of(number) }.min }
          ((all - nothing) / calls.to_f).round(2).clamp(0.0..)
        end

        # Bytes kept for one value. Of the lab's large values, which are alike, the first three count; of the user's
        # files all, because one may be far larger than the others.
        #
        # @return [Hash{String => Integer}] median ("stored_bytes"), mean and largest; empty if unknown
        def stored_bytes
          few = @value.large? && !@value.is_a?(Values::Files)
          sizes = each_pair(few ? 3 : values.size).filter_map do |name, value|
            contestant.stored_bytes(store, name, value)
          end
          return {} if sizes.empty?
          { "stored_bytes" => sizes.sort[sizes.size / 2], "mean_bytes" => sizes.sum / sizes.size,
            "largest_bytes" => sizes.max }
        end

        # CPU time of the contestant's servers, if the operation measures it. While a slice is timed, the servers serve
        # no other client.
        #
        # @return [Float, nil] seconds; nil if the lab started no server for it, or the system does not report CPU times
        def server_seconds
          ServerCPU.seconds(@context.server_pids) if operation.server_time? && contestant.servers.any?
        end

        # Time that the contestant's servers have spent in the run queue. A client that waits for them waits for other
        # programs then.
        #
        # @return [Integer] nanoseconds; 0 if the lab started no server for it
        def server_delay_ns = ServerCPU.delay_ns(@context.server_pids(contestant.servers))

        # @return [void]
        def tear_down
          contestant.tear_down(@store, operation.written(self)) if @store
        ensure
          @context.clean_up
        end

        private

        def build
          contestant.load_gems
          contestant.build(@context).tap { |store| contestant.wait_until_ready(store) }
        end

        def objects_of(calls)
          operation.before_slice(self, calls) if operation.prepared?
          before = GC.stat(:total_allocated_objects)
          run(calls)
          GC.stat(:total_allocated_objects) - before
        end

        # Compiles a class of its own for each arm. Its call sites then see a single store class, as an application's
        # do.
        def compile
          source = <<~RUBY
            def run(calls, store = @store, names = @names, values = @values, inputs = @inputs, count = @count,
                    i = @position)
              #{operation.preamble}
              while calls > 0
                #{operation.body}
                i += 1
                i = 0 if i == count
                calls -= 1
              end
              @position = #{operation.prepared? ? 0 : "i"}
            end
          RUBY
          Class.new(TimedLoop) { class_eval(source, "(#{name})", 1) }
               .new(store:, names:, values:, inputs:, count:)
        end

        # Holds the variables of a compiled loop.
        class TimedLoop
          # @return [Integer] times that a fetch ran its block although the value was stored
          attr_reader :misses

          def initialize(store:, names:, values:, inputs:, count:)
            @store = store
            @names = names
            @values = values
            @inputs = inputs
            @count = count
            @misses = 0
            @position = 0 # a slice continues where the previous one ended
          end
        end
      end
    end
  end
end
