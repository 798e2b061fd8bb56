# frozen_string_literal: true

require "date"
require "set"
require "active_support/core_ext/class/subclasses"
require "active_support/core_ext/kernel/reporting"
require "active_support/ordered_options"

# Finds cached values that are no longer true. On a share of the hits of `fetch`, and of `cache` in views, the block
# runs as well, inside the same request. The audit compares its value with the cached value.
#
# A difference counts as a stale value under two conditions: the cached entry is still the same, and four more runs of
# the block agree with the first one. In these runs the clock is 1 to 404 days ahead, and the times that the caller has
# taken from the clock before have moved as well ({Surroundings}). A cheap block runs up to 30 times more. Values that
# depend on the time, a random number or a CSRF token then differ, and count as "not repeatable".
#
# These runs store nothing: nested `fetch` and `cache` run their blocks, writes to the cache are dropped, and the
# database refuses writes. An audit raises nothing, and does not run inside an open transaction.
class Tiercel::Insight::Audit
  # A checked value: the value that the caller got from the cache, and the ways to compute it again. :source is the
  # caller's block, :surroundings its variables.
  Hit = Struct.new(:name, :options, :value, :block, :reread, :store, :source, :surroundings, keyword_init: true)

  # For the further runs of a block: this thread's clocks are ahead. Before and afterwards their methods are Ruby's own
  # (or a test's).
  module MovedClock
    # The methods, with the units of a day: seconds, and days for dates.
    CLOCKS = [[Time, :now, 86_400], [Time, :new, 86_400], [Date, :today, 1], [DateTime, :now, 1]].freeze
    KEY = :tiercel_insight_moved_clock
    @lock = Mutex.new

    # @return [Object, nil] the block's value; nil if another thread is moving the clocks
    def self.ahead(days, &block)
      return unless @lock.try_lock
      begin
        originals = CLOCKS.map { |owner, name, units| move(owner, name, units) }
        at(days, &block)
      ensure
        originals&.each { |original| define(original.receiver, original.name, original) }
        Time.singleton_class.remove_method(:new) if originals&.any? { |original| original.owner == Class }
        @lock.unlock
      end
    end

    # Moves this thread's clocks within {.ahead}; nil: the clocks show the time, as for reads of the cache.
    def self.at(days)
      before = Thread.current.thread_variable_get(KEY)
      Thread.current.thread_variable_set(KEY, days)
      yield
    ensure
      Thread.current.thread_variable_set(KEY, before)
    end

    # Replaces Ruby's own method, below the modules that a test has prepended, so that the test's clock still wins.
    def self.move(owner, name, units)
      original = owner.method(name)
      original = original.super_method while original.owner != owner.singleton_class && original.super_method
      moved = lambda do |*args, **zone|
        time = original.call(*args, **zone)
        args.empty? ? time + (units * Thread.current.thread_variable_get(KEY).to_f).floor : time
      end
      define(owner, name, moved)
      original
    end

    def self.define(owner, name, method) = silence_warnings { owner.define_singleton_method(name, method) }
    private_class_method :move, :define
  end

  # The variables that a block shares with its caller: local variables, those of its object and of CurrentAttributes; in
  # a request also those of the controller, the request, the response and the session. After a run of the block, all of
  # them are as before. Records and other objects among them forget what they have remembered in the run, and lists of
  # records are no longer loaded, so that the next run computes everything again.
  #
  # In the further runs, times in these variables move if they come from the clock, also inside of containers, objects
  # and relations, and as numbers or texts. A time comes from the clock if it has more digits than a column
  # (microseconds), is a date, a midnight or a past full hour, or is whole minutes away from now. A time is an input of
  # the block, and stays, if its parts are in the key or in a parameter of the request, or if it is an attribute of a
  # record among the variables.
  class Surroundings
    # Each request has its own; each further run has others, also in other variables.
    TOKENS = %w[action_dispatch.request_id action_dispatch.content_security_policy_nonce].freeze
    PARTS = %w[rack.session rack.session.options action_dispatch.request.flash_hash action_dispatch.cookies].freeze
    # Numbers are times if they differ less from the epoch seconds of now.
    EPOCH_RANGE = 10 * 365 * 86_400
    # Larger containers are neither restored nor searched for times.
    MOST_ELEMENTS = 1_000
    LEVELS_OF_RELATION = 8
    CONTAINER = ->(value) { Array === value || Hash === value || Set === value || String === value }
    DELEGATOR = ->(value) { defined?(::Delegator) && ::Delegator === value }
    RECORD = ->(value) { defined?(::ActiveRecord::Base) && ::ActiveRecord::Base === value }
    CONTROLLER = ->(value) { defined?(::ActionController::Metal) && ::ActionController::Metal === value }
    RELATION = ->(value) { defined?(::ActiveRecord::Base) && ::ActiveRecord::Relation === value }
    # Values that an object forgets if it has remembered them in a run. Other values, such as a connection, stay.
    MEMO = ->(value) { Comparable === value || CONTAINER === value || Struct === value || RECORD === value ||
                       RELATION === value || true == value || false == value }

    # @param block [Proc]
    # @param key [String] the entry's key
    def initialize(block, key)
      @key = key
      @objects = objects_of(block.binding)
      @variables = @objects.flat_map { |one| names(one).map { |name| [one, name, get(one, name)] } }
      values = @variables.map(&:last)
      @lazy = values.grep(RELATION).reject { |one| one.loaded? || one.try(:target).present? }
      # The first members of a list stand for all.
      all = values + (values.grep(Array) + values.grep(RELATION).select(&:loaded?)).flat_map { |one| one.first(100) }
      wrappers = all.grep(DELEGATOR) # these are no Objects
      objects = (all.grep(Object) + wrappers + wrappers.map(&:__getobj__)).grep_v(Module).reject(&:frozen?)
      known = @objects.map { |one| [one, Object, one.instance_variables] } +
              objects.map { |one| [one, MEMO, one.instance_variables.reject { |name| get(one, name).nil? }] }
      @known = known.uniq { |one, _| one.__id__ }
      # Associations of records, and memos of other objects, if these are still empty.
      hashes = objects.flat_map { |one| inner(one).grep(RECORD === one ? Hash : {}) }
      containers = (values + hashes).grep(CONTAINER).reject { |one| one.frozen? || one.size > MOST_ELEMENTS }
      @contents = containers.map { |one| [one, one.dup] }
    rescue StandardError
      @objects = @variables = @lazy = @known = @contents = [] # the block of a Symbol has no binding, and so on
    end

    # @param days [Float] how far the times move; negative: only dates and whole hours, back
    # @return [Array<Array>] object, name and value of each variable
    def moved(days)
      @days, @now = days, Time.now
      @tokens = @request ? @request.env.slice(*TOKENS).to_h { |_, token| [token, SecureRandom.hex] } : {}
      text = [@key, @request&.params.to_s].map(&:b).join(" ")
      @numbers = (text.scan(/\d+/) + text.scan(/(?<!\d)(\d{4})(\d\d)(\d\d)(?!\d)/).flatten).map(&:to_i)
      @attributes = (@objects + @variables.map(&:last)).grep(RECORD).flat_map { |one| one.attributes.values }
      @variables.map do |one, name, value|
        next [one, name, with_tokens(value)] if name == :@env && one.equal?(@request)
        [one, name, name.start_with?("@_") ? value : shifted(value)]
      end
    end

    # @return [void]
    def assign(variables = @variables)
      variables.each { |one, name, value| set(one, name, value) unless value.equal?(get(one, name)) }
    end

    # @return [void]
    def restore
      @known.each do |one, kind, names|
        added = (one.instance_variables - names).select { |name| kind === get(one, name) }
        added.each { |name| one.remove_instance_variable(name) }
      end
      @lazy.each(&:reset)
      assign
      @contents.each { |value, copy| value.replace(copy) unless value == copy }
    end

    private

    def objects_of(scope)
      own = scope.receiver
      controller = own.controller if own.respond_to?(:controller)
      all = [scope, own, controller, *ActiveSupport::CurrentAttributes.descendants.map(&:instance)]
      @request = [own, controller].grep(CONTROLLER).first&.request
      all += [@request, @request.controller_instance&.response, *@request.env.values_at(*PARTS)] if @request
      all.reject { |one| one.nil? || one.is_a?(Module) || one.frozen? }
    end

    def with_tokens(env) = env.merge(env.slice(*TOKENS).transform_values(&@tokens))

    def inner(one) = one.instance_variables.map { |name| get(one, name) }

    def names(object) = object.is_a?(Binding) ? object.local_variables : object.instance_variables

    def get(one, name) = one.is_a?(Binding) ? one.local_variable_get(name) : one.instance_variable_get(name)

    def set(one, name, to) = one.is_a?(Binding) ? one.local_variable_set(name, to) : one.instance_variable_set(name, to)

    # A copy of the value with other times; the value itself if it has none. Objects are opened two levels deep.
    def shifted(value, levels = 2)
      case value
      when Date then from_clock?(value) ? value + @days.floor : value
      when Time, Integer, Float then from_clock?(value) ? value + (86_400 * @days).floor : value
      when /\A\d{4}-\d\d-\d\d/ then value.sub($&) { |date| shifted(Date.parse(date)).to_s }
      when Range
        copy = Range.new(shifted(value.begin), shifted(value.end), value.exclude_end?)
        copy == value ? value : copy
      when Array then rebuilt(value, levels, :[]=, value.each_index.zip(value))
      when Hash, Struct then rebuilt(value, levels, :[]=, value.each_pair)
      when String then @tokens.fetch(value, value)
      when nil, true, false, Symbol, Module, Proc, RECORD then value
      when RELATION then rebuilt(value, LEVELS_OF_RELATION, :instance_variable_set, [[:@values, value.values]])
      when Data then value.with(**value.to_h.transform_values { |one| shifted(one, levels) })
      else rebuilt(value, levels - 1, :instance_variable_set, names(value).map { |name| [name, get(value, name)] })
      end
    rescue StandardError
      value # it permits no copy
    end

    def rebuilt(value, levels, setter, parts)
      return value if levels.negative? || parts.size > MOST_ELEMENTS
      changed = parts.map { |name, one| [name, one, shifted(one, levels)] }.reject { |_, one, later| one.equal?(later) }
      return value if changed.empty?
      changed.each_with_object(value.dup) { |(name, _, later), copy| copy.public_send(setter, name, later) }
    end

    def from_clock?(time)
      return false if @attributes.any? { |one| one.equal?(time) }
      return (time - @now.to_f).abs < EPOCH_RANGE && !@numbers.include?(time.to_i) if time.is_a?(Numeric)
      parts = time.strftime("%Y %m %d %H %M %S").split.map(&:to_i) - [0, 1]
      time = time.to_time
      return false if (parts - @numbers).empty? || @numbers.include?(time.to_i)
      hours = [time, time.in_time_zone].select { |at| at.min.zero? && (time.to_r % 60).zero? }
      # An appointment has no seconds. Nor has a time that a test took from a clock that stands still at a full minute.
      hours.any? { |at| at.hour.zero? || time < @now } || (@days.positive? &&
        ((time.nsec % 1_000).positive? || ((time.sec.positive? || @now.nsec.zero?) && (@now - time) % 60 < 5)))
    end
  end

  # Replaces the options that a block may set.
  Ignored = ActiveSupport::OrderedOptions

  # Wraps the methods of a store.
  module Calls
    def fetch(name, options = nil, &block)
      audit = Tiercel::Insight.auditor
      return super if audit.nil? || block.nil?
      return block.call(name, Ignored.new) if audit.running?
      return super if !audit.picks?(block) || (options.is_a?(Hash) && options[:force])
      hit = Hit.new(name:, options:, store: self, source: block, reread: -> { read(name, options) },
                    block: -> { block.call(name, Ignored.new) })
      audit.watch(hit) { |given| super(name, options, &given) }
    end

    # In an audit, these run all blocks and store nothing, as `fetch` does.
    %i[fetch_missing fetch_multi fetch_multi_missing].each do |method|
      define_method(method) do |*names, &block|
        next super(*names, &block) unless block && Tiercel::Insight.auditor&.running?
        names.extract_options!
        values = names.compact.to_h { |name| [name, block.lambda? ? block.call(name) : block.call(name, Ignored.new)] }
        method == :fetch_missing ? values.values.first : values
      end
    end

    # An audit reads at the present time, because a read deletes an expired entry. A segment counts reads itself, so the
    # collector subtracts those of an audit. Only `read_multi` distinguishes a cached nil from a miss.
    def read(name, options = nil)
      return super unless Tiercel::Insight.uncounted?
      MovedClock.at(nil) { respond_to?(:backend) ? read_multi(name, options.to_h).values.first : super }
    end

    def read_multi(*names)
      return super unless Tiercel::Insight.uncounted?
      found = MovedClock.at(nil) { super }
      return found unless respond_to?(:backend)
      names.extract_options!
      Tiercel::Insight.collector&.recount(backend, -found.size, found.size - names.uniq.size)
      found
    end

    # In an audit these change nothing. They return true, as after a success; a counter returns a random number.
    %i[write write_multi delete delete_multi delete_matched clear increment decrement].each do |method|
      define_method(method) do |*arguments, **options, &block|
        next super(*arguments, **options, &block) unless Tiercel::Insight.auditor&.running?
        %i[increment decrement].include?(method) ? SecureRandom.random_number(1 << 30) : true
      end
    end
  end

  # Wraps the helper `cache` of Action View.
  module Views
    def cache(name = {}, options = {}, &block)
      audit = Tiercel::Insight.auditor
      return super if audit.nil? || block.nil?
      if audit.running?
        yield
        return
      end
      return super unless controller.respond_to?(:perform_caching) && controller.perform_caching && audit.picks?(block)
      safe_concat(audit.watch(hit_of(name, options, block)) { |given| capture { super(name, options, &given) }.to_s })
      nil
    end

    private

    def hit_of(name, options, block)
      fragment = cache_fragment_name(name, **options.slice(:skip_digest))
      # The rest of the page sees neither `content_for` nor `cycle` of a run.
      render = lambda do
        before, cycles = view_flow, @_cycles
        self.view_flow = ActionView::OutputFlow.new
        before.content.each { |part, text| view_flow.set(part, text) }
        @_cycles = cycles.deep_dup if cycles
        capture(&block).to_s
      ensure
        self.view_flow = before
        @_cycles = cycles if cycles
      end
      Hit.new(name: controller.combined_fragment_cache_key(fragment), options:, block: render, source: block,
              store: controller.cache_store, reread: -> { controller.read_fragment(fragment, options).to_s })
    end
  end

  class << self
    # @private Puts {Calls} around the stores' classes, and {Views} around the helper.
    def install(stores = nil)
      stores ||= [Tiercel::Insight.collector&.store, (Rails.cache if defined?(Rails) && Rails.respond_to?(:cache)),
                  (ActionController::Base.cache_store if defined?(ActionController::Base))]
      stores.compact.map(&:class).uniq.each { |store| store.prepend(Calls) unless store < Calls }
      ActiveSupport.on_load(:action_view) { prepend(Views) unless self < Views } unless @views
      @views = true
    end

    # @param lists [Array<Array<Hash>>] findings of several processes
    # @return [Array<Hash>]
    def merge(lists)
      lists.flatten(1).grep(Hash).group_by { |one| one.values_at("class", "status", "at") }.map do |_, same|
        same.max_by { |one| one["last"].to_i }.merge("count" => same.sum { |one| one["count"].to_i })
      end
    end
  end

  RUNNING = :tiercel_insight_audit
  MOST_FINDINGS = 200
  # Audits take at most this share of the time. The first seconds of ALLOWANCE are free.
  TIME_SHARE = 0.01
  ALLOWANCE = 0.05
  # Maximum number of audits of a class in a minute.
  PER_MINUTE = 10
  # Maximum number of checks that are saved up while no place needs one.
  MOST_DUE = 20
  # How far the clock is ahead in the further runs: other times of the day, other weekdays, and far enough to change "10
  # months ago" and to empty the window of a query. In the second run, the caller's times stay, and dates and beginnings
  # of hours, days and months go back: moved in step with the clock, they keep their distance from now, and a month that
  # has just begun is as empty as a later one.
  DAYS = { 402.28 => 402.28, 404.52 => -404.52, 6.76 => 6.76, 1.04 => 1.04 }.freeze
  # A choice among few values, or a rare value, agrees by chance in few runs. So a cheap block runs more often.
  RUNS, RUN_SECONDS = 30, 0.02

  # @param share [Float] the share of the hits, 0.0 to 1.0; 1.0 checks every hit, without limits
  # @param except [Array<Regexp, String>] keys that are not checked
  # @param values [Boolean] whether reports show the values that differ
  # @raise [Tiercel::Insight::ConfigurationError]
  def initialize(share, except: [], values: false)
    unless share.is_a?(Numeric) && share.between?(0, 1)
      raise Tiercel::Insight::ConfigurationError,
            "audit: expected a share of the hits, such as 0.001, got #{share.inspect}"
    end
    @share = share
    @except = Array(except)
    @comparison = Tiercel::Insight::Comparison.new(values:)
    @classes = Tiercel::Insight::KeyClass.new
    @findings, @places = {}, {}
    @lock = Mutex.new
    @began = monotonic
    @spent, @checked, @due, @random = 0.0, 0, rand, Random.new
  end

  # @return [Integer] number of hits that were checked
  attr_reader :checked

  # @return [Array<Hash{String => Object}>] by class and place: "class", "status" ("stale" or "not repeatable"), "at"
  #   (the block's file and line), "count", "first" and "last" (epoch seconds), "difference", "ttl", "tags"
  def to_a = @lock.synchronize { @findings.values.map(&:dup) }

  # @return [Array<Hash>] the stale values alone
  def stale = to_a.select { |one| one["status"] == "stale" }

  # @private
  def running? = ActiveSupport::IsolatedExecutionState[RUNNING]

  # Each call adds the share to the number of checks that are due. These checks are spread evenly over the places of the
  # code that call `fetch`. A mistake belongs to a place, and a rarely visited page has as many mistakes as a popular
  # one. A place with more checks than the average has to wait. The share varies, because in equal steps, pages with the
  # same number of calls would always check the same one.
  #
  # @private
  # @param block [Proc] of the call
  # @return [Boolean] whether to check this call if it hits
  def picks?(block)
    return !Tiercel::Insight.uncounted? if @share >= 1
    @due = [@due + (@share * 2 * @random.rand), MOST_DUE].min
    return false if @due < 1 || Tiercel::Insight.uncounted?
    return false if @spent > ALLOWANCE + (TIME_SHARE * (monotonic - @began))
    checks = @places[block.source_location] ||= 0
    @places.clear if @places.size > 10_000
    checks <= @checked.fdiv([@places.size, 1].max)
  end

  # Calls the cache, and checks the value unless the block has run.
  #
  # @private
  # @param hit [Hit] without its value
  # @yieldparam given [Proc] the caller's block
  # @return [Object] the value
  def watch(hit)
    ran = false
    hit.value = yield(lambda do |*given|
      ran = true
      hit.source.call(*given)
    end)
    check(hit) unless ran
    hit.value
  end

  # @private
  # @param hit [Hit]
  # @return [void]
  def check(hit)
    return if in_transaction?
    place = hit.source.source_location
    key = hit.name.is_a?(String) ? hit.name : ActiveSupport::Cache.expand_cache_key(hit.name)
    return if @except.any? { |pattern| pattern.is_a?(Regexp) ? pattern.match?(key) : key.include?(pattern) }
    class_name = @lock.synchronize { (Tiercel::Insight.collector&.key_class || @classes).of(key) }
    return unless @share >= 1 || in_this_minute?(class_name)
    began = monotonic
    hit.surroundings = Surroundings.new(hit.source, key)
    compare(hit, class_name, place)
    @lock.synchronize do
      @checked += 1
      @due -= 1
      @places[place] = @places[place].to_i + 1
    end
  rescue StandardError, SystemStackError
    nil # an audit changes nothing for the caller
  ensure
    @spent += monotonic - began if began
  end

  private

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def in_transaction?
    defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.current_transaction.open?
  rescue StandardError
    false # no connection
  end

  def in_this_minute?(class_name)
    minute = (monotonic / 60).to_i
    @lock.synchronize do
      @minute, @in_minute = minute, Hash.new(0) unless @minute == minute
      (@in_minute[class_name] += 1) <= PER_MINUTE
    end
  end

  def compare(hit, class_name, place)
    cached = @comparison.canonical(hit.value)
    completed, (fresh, same) = run(hit) do |value|
      canonical = @comparison.canonical(value)
      [canonical, cached == canonical || @comparison.same_for_store?(hit, cached, value)]
    end
    return if !completed || same
    return unless @comparison.canonical(Tiercel::Insight.uncounted { hit.reread.call }) == cached # changed meanwhile
    agrees = DAYS.all? do |days, of_caller|
      moved = hit.surroundings.moved(of_caller)
      completed, value = MovedClock.ahead(days) { run(hit, moved) { |one| @comparison.canonical(one) } } || return
      completed && value == fresh
    end
    ends = monotonic + RUN_SECONDS
    agrees &&= RUNS.times.all? { monotonic > ends || run(hit) { |one| @comparison.canonical(one) } == [true, fresh] }
    difference = @comparison.first_difference(cached, fresh) if agrees
    note(class_name, place, agrees ? "stale" : "not repeatable", difference, hit)
  end

  # Runs the block. The `return` in `ensure` stops a `break`, `throw` or `return` of the block, which must not reach the
  # caller. An exception that another thread raises here, such as a timeout, continues.
  #
  # @param variables [Array<Array>] those of the further runs, see {Surroundings#moved}
  # @yieldparam value [Object] the block's value, before the variables are restored
  # @return [Array(Boolean, Object)] whether the block has completed, and the result of `yield`
  def run(hit, variables = [])
    completed = false
    failure = $! # of the caller, who may be in a `rescue`
    ActiveSupport::IsolatedExecutionState[RUNNING] = true
    hit.surroundings.assign(variables)
    result = without_writes { Tiercel::Insight.uncounted { yield hit.block.call } }
    completed = true
    [true, result]
  rescue StandardError, ScriptError, SystemStackError
    completed = true
    [false]
  ensure
    ActiveSupport::IsolatedExecutionState[RUNNING] = nil
    hit.surroundings.restore
    return [false] if !completed && $!.equal?(failure) # rubocop:disable Lint/EnsureReturn
  end

  def without_writes(&block)
    return yield unless defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:while_preventing_writes)
    # A block that rescues the refusal returns another value than it would.
    refused = false
    watch = TracePoint.new(:raise) { |one| refused ||= ::ActiveRecord::ReadOnlyError === one.raised_exception }
    result = watch.enable { ::ActiveRecord::Base.while_preventing_writes { ::ActiveRecord::Base.uncached(&block) } }
    refused ? raise(::ActiveRecord::ReadOnlyError) : result
  end

  def note(class_name, place, status, difference, hit)
    at = place && "#{place.first.delete_prefix("#{Rails.root if defined?(Rails.root)}/")}:#{place.last}"
    now = Time.now.to_i
    @lock.synchronize do
      # If a place was not repeatable once, its earlier agreement was chance.
      return if status == "stale" && @findings.key?([class_name, "not repeatable", at])
      @findings.delete([class_name, "stale", at]) if status != "stale"
      key = [class_name, status, at]
      one = @findings[key]
      next if one.nil? && @findings.size >= MOST_FINDINGS
      one ||= @findings[key] = { "class" => class_name, "status" => status, "at" => at, "count" => 0, "first" => now }
      one.update("count" => one["count"] + 1, "last" => now, "difference" => difference,
                 **lifetime(hit)) { |_, _, new| new }
    end
    return if status != "stale"
    ActiveSupport::Notifications.instrument("stale_value.tiercel", class: class_name, at:, difference:)
  end

  # The TTL, age and number of tags of the entry, as far as they are known.
  def lifetime(hit)
    options = hit.options.is_a?(Hash) ? hit.options : {}
    defaults = (hit.store.options if hit.store.respond_to?(:options)) || {}
    ttl = options[:expires_in] || defaults[:expires_in]
    tier = Tiercel::Insight::EntryReport.new(hit.store, hit.name).to_h[:tiers].find { |one| one[:found] } || {}
    left = tier[:ttl_seconds]
    age = (ttl.to_f - left).round(1) if ttl && left
    { "ttl" => ttl&.to_f, "age" => age, "tags" => tier[:tags] && tier[:tags].size }
  rescue StandardError
    {}
  end
end

# Compares a cached value with a computed one by their meaning for the application, not by the objects' identity. A
# record is its attributes and its loaded associations; a relation is its records; times are equal to the microsecond.
# Strings equal Symbols, also as keys of a Hash, because serializers change one into the other.
#
# @private
class Tiercel::Insight::Comparison
  DEPTH = 40

  # The loaded associations of a record. A caller may have loaded others before it passed the record to a block, so only
  # those that both records have loaded are compared.
  class Loaded < Hash
    def ==(other) = (keys & other.keys).all? { |name| self[name] == other[name] }
  end

  # @param values [Boolean] whether differences show values
  def initialize(values: false)
    @values = values
  end

  # @param value [Object]
  # @return [Object] plain Arrays, Hashes and scalars that can be compared with `==`
  def canonical(value, seen = {}.compare_by_identity, depth = 0)
    case value
    when Float then value.nan? ? :nan : format("%.12g", value).to_f # sums depend on their order
    when Symbol then value.name
    when String then String.new(value).b # servers return bytes
    when Time, DateTime then value.to_time.to_r.round(6)
    when nil, true, false, Numeric, Date, Range, Module then value
    else deep(value, seen, depth)
    end
  end

  # A server keeps a raw value as text, and a coder such as JSON changes times and other objects.
  #
  # @return [Boolean] whether the store would return the cached value after a write of the fresh one
  def same_for_store?(hit, cached, fresh)
    raw = hit.options.is_a?(Hash) && hit.options[:raw]
    raw ? canonical(hit.value.to_s) == canonical(fresh.to_s) : cached == canonical(fresh.as_json)
  rescue StandardError, SystemStackError # objects that refer to each other have no end as JSON
    false
  end

  # @return [String] the place and kind of the first difference; the values only if that was allowed
  def first_difference(cached, fresh, path = "value")
    if cached.is_a?(Array) && fresh.is_a?(Array)
      index = [cached.size, fresh.size].max.times.find { |at| cached[at] != fresh[at] }
      return "#{path}: #{cached.size} elements cached, #{fresh.size} now" if cached.size != fresh.size && !@values
      return first_difference(cached[index], fresh[index], "#{path}[#{index}]")
    elsif cached.is_a?(Hash) && fresh.is_a?(Hash)
      key = (cached.keys | fresh.keys).find do |name|
        cached[name] != fresh[name] || cached.key?(name) != fresh.key?(name)
      end
      return first_difference(cached[key], fresh[key], "#{path}#{name_of(key)}")
    elsif cached.is_a?(String) && fresh.is_a?(String)
      return of_strings(cached, fresh, path)
    end
    "#{path}: #{shown(cached)} cached, #{shown(fresh)} now"
  end

  private

  def deep(value, seen, depth)
    return :cycle if seen[value] || depth > DEPTH
    entered = seen[value] = true
    inner = ->(one) { canonical(one, seen, depth + 1) }
    case value
    when Array then value.map(&inner)
    when Hash then value.to_h { |name, one| [name.is_a?(Symbol) ? name.name : inner.call(name), inner.call(one)] }
    when Set then value.map(&inner).sort_by(&:inspect)
    when Struct, Data then [value.class.name, inner.call(value.to_h)]
    else object(value, inner)
    end
  ensure
    # Records that refer to each other form too many paths, so each counts once.
    seen.delete(value) if entered && value.is_a?(Enumerable)
  end

  def object(value, inner)
    if defined?(::ActiveRecord::Base) && value.is_a?(::ActiveRecord::Base) then record(value, inner)
    elsif value.respond_to?(:to_ary) then value.to_ary.map(&inner) # relations, proxies of associations
    elsif value.instance_variables.any?
      [value.class.name, value.instance_variables.to_h { |name| [name, inner.call(value.instance_variable_get(name))] }]
    else value.respond_to?(:to_s) && value.method(:==).owner == BasicObject ? value.class.name : value
    end
  end

  def record(value, inner)
    loaded = value.class.reflect_on_all_associations.map(&:name).select { |name| value.association(name).loaded? }
    [value.class.name, value.attributes.transform_values(&inner),
     Loaded[loaded.to_h { |name| [name.name, inner.call(value.association(name).target)] }]]
  end

  def name_of(key)
    shown = @values || key.to_s.match?(Tiercel::Insight::KeyClass::Words::FORM_OF_NAME)
    shown ? "[#{key.to_s[0, 40]}]" : "[*]"
  end

  def of_strings(cached, fresh, path)
    cached, fresh = [cached, fresh].map { |text| text.dup.force_encoding(Encoding::UTF_8).scrub("?") }
    shorter = [cached.size, fresh.size].min
    at = shorter.times.find { |index| cached[index] != fresh[index] } || shorter
    line = cached[0, at].count("\n") + 1
    text = "#{path}: line #{line}, character #{at + 1} (#{cached.size} characters cached, #{fresh.size} now)"
    return text unless @values
    from = [at - 10, 0].max
    "#{text}: #{Tiercel::Insight::Text.printable(cached[from, 60]).inspect} cached, " \
      "#{Tiercel::Insight::Text.printable(fresh[from, 60]).inspect} now"
  end

  def shown(value) = @values ? Tiercel::Insight::Text.printable(value.inspect, most: 80) : kind(value)

  def kind(value)
    case value
    when nil then "nothing"
    when Array, Hash then "#{value.class} of #{value.size}"
    when String then "#{value.size} characters"
    else "a different #{value.class}"
    end
  end
end
