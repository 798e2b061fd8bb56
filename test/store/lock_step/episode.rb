# frozen_string_literal: true

require "logger"
require "stringio"
require_relative "random_call"
require_relative "stopped_chance"
require_relative "stopped_clock"
require_relative "subscribers"

module LockStep
  # Two stores with the same options receive the same calls in the same circumstances. Their results are
  # compared after each call, and their stored bytes after some calls.
  class Episode
    # Rails' own methods serve every call, because a hook is overridden. They take no leases.
    RAILS = Class.new(ActiveSupport::Cache::TiercelStore) do
      def self.name = superclass.name

      private

      def expanded_key(name) = super
    end

    # One run of one call.
    Outcome = Struct.new(:result, :error, :events, :log, :reports)
    MEMBERS = Outcome.members.freeze

    # @return [Integer] number of calls
    attr_reader :calls

    # @param seed [Integer]
    # @yieldparam store [Class]
    # @yieldparam options [Hash] the options of a store
    # @yieldreturn [ActiveSupport::Cache::TiercelStore] a store over its own cache
    def initialize(seed)
      @random = Random.new(seed)
      @subscribers = Subscribers.new
      @time = Time.at(1_800_000_000)
      @history = []
      @calls = 0
      options_seed = @random.rand(2**32)
      @fast, @plain = [ActiveSupport::Cache::TiercelStore, RAILS].map do |store|
        yield(store, **Materials.new(Random.new(options_seed)).store_options, lease: false)
      end
      @history << "options #{@fast.options.inspect}"
    end

    # @param steps [Integer]
    # @return [String, nil] the first difference; nil if there is none
    def run(steps)
      steps.times do
        difference = StoppedClock.at(@time) { @random.rand(5).zero? ? change_circumstances : step }
        return [difference, *@history.last(12).reverse].join("\n  ") if difference
      end
      StoppedClock.at(@time) { difference_of_contents }
    ensure
      @subscribers.remove_all
      [@fast, @plain].each(&:close)
    end

    private

    def step
      @calls += 1
      seed = @random.rand(2**32)
      outcomes = [@fast, @plain].map { |store| StoppedChance.at(seed) { outcome(random_call(seed), store) } }
      @history << random_call(seed).to_s
      difference_of(*outcomes) || (difference_of_contents if (@calls % 4).zero?)
    end

    def random_call(seed) = RandomCall.new(seed, @subscribers)

    def outcome(call, store)
      outcome = Outcome.new
      @subscribers.seen = []
      log = logging
      outcome.reports = reporting { run_call(call, store, outcome) }
      outcome.events = @subscribers.seen
      outcome.log = log&.string
      outcome
    end

    def run_call(call, store, outcome)
      outcome.result = Comparable.value(call.make(store))
    rescue StandardError, NotImplementedError, SystemStackError => error
      outcome.error = Comparable.value(error)
    end

    def logging
      ActiveSupport::Cache::Store.logger = nil
      return unless @log_level
      log = StringIO.new
      # Removes addresses of objects and source locations of Procs from a text.
      plain_text = ->(*, text) { "#{text.gsub(/0x\h+/, "0x").gsub(/_step[^>]*/, "")}\n" }
      ActiveSupport::Cache::Store.logger = Logger.new(log, level: @log_level, formatter: plain_text)
      log
    end

    def reporting
      errors = []
      listener = Object.new
      listener.define_singleton_method(:report) { |error, **| errors << Comparable.value(error) }
      ActiveSupport.error_reporter.subscribe(listener)
      yield
      errors
    ensure
      ActiveSupport.error_reporter.unsubscribe(listener)
    end

    def difference_of(fast, plain)
      member = MEMBERS.find { |name| fast[name] != plain[name] } or return
      if fast[member].is_a?(Array) && plain[member].is_a?(Array)
        at = (0..).find { |index| fast[member][index] != plain[member][index] }
        return "#{member} differs at #{at}\n  fast:  #{fast[member][at].inspect[0, 1_500]}\n" \
               "  plain: #{plain[member][at].inspect[0, 1_500]}"
      end
      "#{member} differs\n  fast:  #{fast[member].inspect[0, 1_500]}\n  plain: #{plain[member].inspect[0, 1_500]}"
    end

    def difference_of_contents
      fast, plain = [@fast, @plain].map { |store| contents(store) }
      return if fast == plain
      keys = (fast.keys | plain.keys).select { |key| fast[key] != plain[key] }
      "contents differ at #{keys.inspect[0, 300]}: #{keys.map { |key| [fast[key], plain[key]] }.inspect[0, 800]}"
    end

    def contents(store)
      keys = store.backend.scan.map(&:b).sort
      keys.to_h { |key| [key, content(store.backend.get(key))] }.compact
    end

    # A lease has a random name and expiry, so only the value that reads see is compared.
    def content(bytes)
      return if expired?(bytes) # Rails' `read` deletes it
      return bytes unless Tiercel::Leases::Placeholder.placeholder?(bytes)
      [:lease, Tiercel::Leases::Placeholder.visible(bytes)]
    end

    def expired?(bytes)
      Tiercel::Frame.frame?(bytes) && (ends = Tiercel::Frame.ends_at(bytes)) && ends <= Time.now.to_f
    rescue Tiercel::MalformedFrame, ArgumentError # damaged
      false
    end

    def change_circumstances
      what, change = circumstance
      @history << "-- #{what}"
      change.call
      nil
    end

    def circumstance
      case @random.rand(10)
      when 0, 1 then subscribe
      when 2, 3 then ["a subscriber goes", -> { @subscribers.remove_one(@random.rand(100)) }]
      when 4 then ["all subscribers go", -> { @subscribers.remove_all }]
      when 5, 6 then level
      when 7, 8 then travel
      when 9 then @random.rand(3).zero? ? damage : plant
      end
    end

    def subscribe
      kind = Subscribers::KINDS.sample(random: @random)
      pattern = Subscribers::PATTERNS.sample(random: @random)
      ["#{kind} subscriber of #{pattern.inspect}", -> { @subscribers.add(kind, pattern) }]
    end

    def level
      level = [nil, nil, Logger::INFO, Logger::DEBUG].sample(random: @random)
      ["log level #{level.inspect}", -> { @log_level = level }]
    end

    def travel
      seconds = [0.4, 1, 9, 12, 61, 400, 100_000].sample(random: @random)
      ["#{seconds} s later", -> { @time += seconds }]
    end

    # Truncates or alters the bytes that a call has written.
    def damage
      number = @random.rand(1_000)
      ["damage #{number}", lambda do
        [@fast, @plain].each do |store|
          keys = store.backend.scan.sort
          next if keys.empty?
          key = keys[number % keys.size]
          bytes = store.backend.get(key)
          # A damaged lease would make its random name visible.
          store.backend.set(key, damaged(bytes, number)) unless Tiercel::Leases::Placeholder.placeholder?(bytes)
        end
      end]
    end

    def damaged(bytes, number)
      return bytes.byteslice(0, number % (bytes.bytesize + 1)) if number.even? || bytes.empty?
      bytes.dup.tap do |copy|
        copy.setbyte(number % copy.bytesize, copy.getbyte(number % copy.bytesize) ^ (1 << (number % 8)))
      end
    end

    def plant
      bytes = Materials.new(@random).foreign
      key = %w[a b a/b r/1 n:a].sample(random: @random)
      ["#{bytes.inspect} under #{key}", -> { [@fast, @plain].each { |store| store.backend.set(key, bytes) } }]
    end
  end
end
