# frozen_string_literal: true

require "tmpdir"
require "tiercel/backend_url"
require_relative "../folder"
require "tiercel/backends"
require_relative "../errors"

module Tiercel
  module Lab
    module Simulator
      # Replays the same workloads on policies and backends, for `lab hit-ratio`.
      #
      #   Comparison.new(policies: %i[fifo lru s3_fifo], urls: ["memory:"]).run.dig("LRU", "scans").estimate # => 53.1
      class Comparison
        # A hit ratio in percent: mean, minimum and maximum of all seeds, and each {Replay::Result}.
        Figure = Data.define(:estimate, :low, :high, :results)

        # @param workloads [Array<Workload, String>] Strings are names, see {Workloads}
        # @param policies [Array<Symbol>] names, see {POLICIES}
        # @param urls [Array<String>] Tiercel URLs; a URL without a path gets a temporary one
        # @param share [Float] capacity, as a share of the total size of the workload's values
        # @param seeds [Array<String>]
        # @param requests [Integer, nil] length of the traces; nil for each workload's own length
        # @param within [Numeric] seconds that a store may take for a trace
        # @raise [ArgumentError] if a workload or policy is unknown
        def initialize(workloads: Workloads.names, policies: POLICIES.names, urls: [], share: 0.1,
                       seeds: %w[1 2 3], requests: nil, within: 120)
          @workloads = workloads.map { |workload| workload.is_a?(Workload) ? workload : Workloads.fetch(workload) }
          @workloads = @workloads.map { |workload| workload.with(requests:) } if requests
          @share = share
          raise ArgumentError, "share: expected above 0 and up to 1, got #{share}" unless share.positive? && share <= 1
          @seeds = seeds.map(&:to_s)
          @contenders = policies.map { |name| PolicyContender.new(name) }
          @contenders += urls.map { |url| BackendContender.new(url, within) }
        end

        # @return [Array<String>] the steps of {#run}, one line each
        def plan
          @workloads.product(@contenders).map do |workload, contender|
            "#{contender.title} on #{workload.name}: #{@seeds.size} x #{workload[:requests]} requests " \
              "over #{workload[:keys]} keys"
          end
        end

        # @yieldparam label [String] the next step, for a progress line
        # @return [Hash{String => Hash{String => Figure, String}}] by contender, then by workload; a String is the
        #   reason why it could not run
        def run(&progress)
          results = Hash.new { |hash, title| hash[title] = {} }
          each_figure(progress) { |title, workload, figure| results[title][workload] = figure }
          results
        end

        # Yields each figure as soon as it is complete.
        #
        # @param progress [#call, nil] receives the next step
        # @yieldparam title [String] title of the contender
        # @yieldparam workload [String]
        # @yieldparam figure [Figure, String]
        def each_figure(progress = nil)
          @workloads.each do |workload|
            traces = @seeds.map { |seed| workload.trace(seed) }
            @contenders.each do |contender|
              progress&.call("#{contender.title} on #{workload.name}")
              yield contender.title, workload.name, figure(contender, traces)
            end
          end
        end

        # @return [Array<String>] names of the workloads
        def names = @workloads.map(&:name)

        # @return [Array<String>] titles of policies and stores
        def titles = @contenders.map(&:title)

        # @return [Integer] number of requests of all contenders
        def requests = @workloads.sum { |workload| workload[:requests] } * @contenders.size * @seeds.size

        # @return [String] the settings, for the report
        def note
          seeds = @seeds.one? ? "seed #{@seeds.first}" : "mean and range of #{@seeds.size} seeds"
          format("Percent of reads, %s; capacity %g %% of what all values take together. Policies are charged the " \
                 "value's bytes alone, stores whatever they need for an entry.", seeds, @share * 100)
        end

        private

        def figure(contender, traces)
          results = traces.map { |trace| contender.replay(trace, (trace.footprint_bytes * @share).ceil) }
          wrong = results.sum(&:wrong)
          return "#{wrong} reads gave other bytes than the last write" if wrong.positive?
          percents = results.map { |result| (result.hit_ratio || 0.0) * 100 }
          Figure.new(percents.sum / percents.size, percents.min, percents.max, results)
        rescue CannotRun => error
          error.message
        end

        # @private
        class PolicyContender
          attr_reader :title

          def initialize(name)
            @class = POLICIES.fetch(name)
            @title = @class.title
          end

          def replay(trace, capacity) = Replay.run(trace, @class.new(capacity))
        end

        # A new backend for every trace.
        # @private
        class BackendContender
          # Backends whose TTLs use a server's clock, which the lab cannot move.
          REMOTE = %w[memcached redis rediss redis+cluster rediss+cluster unix].freeze

          attr_reader :title

          def initialize(url, within)
            @url = BackendURL.parse(url)
            Folder.check_place(@url.to_s, @url.scheme, @url.rest)
            @within = within
            @title = @url.to_s
          end

          def replay(trace, capacity)
            if trace.ttls? && REMOTE.include?(@url.scheme)
              raise CannotRun, "TTLs run on the server's clock, which cannot be moved"
            end
            Dir.mktmpdir("tiercel-hit-ratio-") do |dir|
              with_backend(dir, capacity) { |backend| Replay.run(trace, backend, within: @within) }
            end
          rescue MissingDependency, ConfigurationError, BackendError => error
            raise CannotRun, error.message
          end

          private

          def with_backend(dir, capacity)
            backend = build(dir, capacity)
            held = backend.stats[:entries].to_i
            raise CannotRun, "#{@url} holds #{held} entries: name a place that is empty" if held.positive?
            yield(backend).tap { backend.clear }
          ensure
            backend&.close
          end

          def build(dir, capacity)
            backend_class = Backends::REGISTRY.fetch(@url.scheme)
            options = @url.options.dup
            options[:size] ||= capacity if backend_class.option_names.include?(:size)
            backend_class.build(BackendURL.new(@url.scheme, place(dir), options), options)
          end

          def place(dir)
            return @url.rest unless @url.rest.empty? && %w[shared file sqlite].include?(@url.scheme)
            File.join(dir, "cache")
          end
        end
        private_constant :PolicyContender, :BackendContender
      end
    end
  end
end
