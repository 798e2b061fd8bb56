# frozen_string_literal: true

require "date"
require "set"
require "active_support/core_ext/kernel/reporting"

# Finds cached values that are no longer true. On a share of the hits of `fetch`, and of `cache` in views, the block
# runs as well, inside the same request. The audit compares its value with the cached value.
#
# A difference counts as a stale value under two conditions: the cached entry is still the same, and a second run of the
# block agrees with the first one, and so do three more. In these runs the clock is 25, 7, 13 and 19 hours ahead, and so
# are the times that the caller has taken from the clock before. Values that depend on the time, a random number or a
# CSRF token then differ, and count as "not repeatable".
#
# These runs store nothing: nested `fetch` and `cache` run their blocks, writes to the cache are dropped, and the
# database refuses writes. An audit raises nothing, and does not run inside an open transaction.
class Tiercel::Insight::Audit
  # A checked value: the value that the caller got from the cache, and the ways to compute it again. :source is the
  # caller's block.
  Hit = Struct.new(:name, :options, :value, :block, :reread, :store, :source, keyword_init: true)

  # For the further runs of a block: this thread's clocks are ahead. Before and afterwards their methods are Ruby's own
  # (or a test's).
  module MovedClock
    # How far each method is ahead: seconds, and days for dates.
    CLOCKS = [[Time, :now, 90_061], [Date, :today, 1], [DateTime, :now, 1]].freeze
    KEY = :tiercel_insight_moved_clock
    @lock = Mutex.new

    # @return [Object, nil] the block's value; nil if another thread is moving the clocks
    def self.ahead(days)
      return unless @lock.try_lock
      begin
        originals = CLOCKS.map { |owner, name, more| move(owner, name, more) }
        Thread.current.thread_variable_set(KEY, days)
        yield
      ensure
        Thread.current.thread_variable_set(KEY, nil)
        originals&.each { |original| define(original.receiver, original.name, original) }
        @lock.unlock
      end
    end

    # Replaces Ruby's own method, below the modules that a test has prepended, so that the test's clock still wins.
    def self.move(owner, name, more)
      original = owner.method(name)
      original = original.super_method while original.owner != owner.singleton_class && original.super_method
      days = -> { Thread.current.thread_variable_get(KEY).to_f }
      moved = ->(*args, **zone) { original.call(*args, **zone) + (more * days.call).floor }
      define(owner, name, moved)
      original
    end

    def self.define(owner, name, method) = silence_warnings { owner.define_singleton_method(name, method) }
    private_class_method :move, :define
  end

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

    # A segment counts reads itself, so the collector subtracts those of an audit. Only `read_multi` distinguishes a
    # cached nil from a miss.
    def read(name, options = nil)
      Tiercel::Insight.uncounted? && respond_to?(:backend) ? read_multi(name, options.to_h).values.first : super
    end

    def read_multi(*names)
      return super unless Tiercel::Insight.uncounted? && respond_to?(:backend)
      found = super
      names.extract_options!
      Tiercel::Insight.collector&.recount(backend, -found.size, found.size - names.uniq.size)
      found
    end

    # In an audit these change nothing. They return true, as after a success; a counter returns a random number.
    %i[write write_multi delete delete_multi delete_matched clear increment decrement].each do |method|
      define_method(method) do |*arguments, **options, &block|
        next super(*arguments, **options, &block) unless Tiercel::Insight.auditor&.running?
        %i[increment decrement].include?(method) ? rand(1 << 30) : true
      end
    end
  end

  # Replaces the options that a block may set, and ignores them.
  class Ignored
    def method_missing(_name, *) = nil
    def respond_to_missing?(*) = true
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
      # A block may change state that the rest of the page would see: `content_for`, instance variables.
      render = lambda do
        before = instance_variables.to_h { |variable| [variable, instance_variable_get(variable)] }
        flow = ActionView::OutputFlow.new
        view_flow.content.each { |part, text| flow.set(part, text) }
        self.view_flow = flow
        capture(&block).to_s
      ensure
        (instance_variables - before.keys).each { |variable| remove_instance_variable(variable) }
        before.each { |variable, value| instance_variable_set(variable, value) }
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
  private_constant :RUNNING, :MOST_FINDINGS, :TIME_SHARE, :ALLOWANCE, :PER_MINUTE, :MOST_DUE

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
    @findings = {}
    @minutes = {}
    @lock = Mutex.new
    @spent = 0.0
    @began = monotonic
    @checked = 0
    @due = rand
    @places = {}
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
  # one. A place with more checks than the average has to wait.
  #
  # @private
  # @param block [Proc] of the call
  # @return [Boolean] whether to check this call if it hits
  def picks?(block)
    return !Tiercel::Insight.uncounted? if @share >= 1
    @due = [@due + @share, MOST_DUE].min
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
    return false unless defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:current_transaction)
    ::ActiveRecord::Base.current_transaction.open?
  rescue StandardError
    false # no connection
  end

  def in_this_minute?(class_name)
    minute = (monotonic / 60).to_i
    @lock.synchronize do
      @minutes.clear if @minutes.first&.last&.first != minute && @minutes.size > 1_000
      at, count = @minutes[class_name]
      @minutes[class_name] = [minute, at == minute ? count + 1 : 1]
      at != minute || count < PER_MINUTE
    end
  end

  def compare(hit, class_name, place)
    cached = @comparison.canonical(hit.value)
    completed, value = run(hit)
    fresh = @comparison.canonical(value)
    return if !completed || cached == fresh || @comparison.same_for_store?(hit, cached, value)
    return unless @comparison.canonical(Tiercel::Insight.uncounted { hit.reread.call }) == cached # changed meanwhile
    # A random choice among few values, or of a part of the day, may agree by chance in one run.
    agrees = [1, 0.28, 0.52, 0.76].all? do |days|
      completed, value = run_later(hit, days) || return
      completed && @comparison.canonical(value) == fresh
    end
    difference = @comparison.first_difference(cached, fresh) if agrees
    note(class_name, place, agrees ? "stale" : "not repeatable", difference, hit)
  end

  # Runs the block with a clock that is ahead. The times that the caller has taken from the clock are ahead, too.
  def run_later(hit, days)
    times = recent_times(hit.source)
    MovedClock.ahead(days) do
      times.each { |set, name, time| set.call(name, time + (time.is_a?(Date) ? days.floor : 90_061 * days)) }
      run(hit)
    ensure
      times.each { |set, name, time| set.call(name, time) }
    end
  end

  # The variables of the block with a time of this minute or a date around today, such as `today` in
  # `today = Date.current; fetch(name) { today.year }`. A class or module shares its variables with other threads.
  #
  # @return [Array<Array>] the method that sets the variable, its name, and its value
  def recent_times(block)
    own = block.binding.receiver
    names = own.is_a?(Module) || own.frozen? ? [] : own.instance_variables
    all = locals_of(block).map { |name, value| [block.binding.method(:local_variable_set), name, value] }
    all += names.map { |name| [own.method(:instance_variable_set), name, own.instance_variable_get(name)] }
    all.select do |*, time|
      case time
      when Time, DateTime then (Time.now - time.to_time).abs < 60
      when Date then (time - Time.now.to_date).abs <= 1
      end
    end
  rescue ArgumentError, NoMethodError
    [] # the block of a Symbol has no binding, a BasicObject no variables
  end

  # Runs the block. The `return` in `ensure` stops a `break`, `throw` or `return` of the block, which must not reach the
  # caller. An exception that another thread raises here, such as a timeout, continues.
  #
  # @return [Array(Boolean, Object)] whether the block has completed, and its value
  def run(hit)
    completed = false
    failure = $! # of the caller, who may be in a `rescue`
    locals = locals_of(hit.source)
    before = ActiveSupport::IsolatedExecutionState[RUNNING]
    ActiveSupport::IsolatedExecutionState[RUNNING] = true
    value = without_writes { Tiercel::Insight.uncounted { hit.block.call } }
    completed = true
    [true, value]
  rescue StandardError, ScriptError, SystemStackError
    completed = true
    [false, nil]
  ensure
    ActiveSupport::IsolatedExecutionState[RUNNING] = before
    locals.each { |name, value| hit.source.binding.local_variable_set(name, value) }
    return [false, nil] if !completed && $!.equal?(failure) # rubocop:disable Lint/EnsureReturn
  end

  # The local variables that the block shares with its caller, such as `hit = true; fetch(name) { hit = false; ... }`.
  def locals_of(block)
    block.binding.then { |scope| scope.local_variables.to_h { |name| [name, scope.local_variable_get(name)] } }
  rescue ArgumentError
    {} # the block of a Symbol has no binding
  end

  def without_writes(&block)
    return yield unless defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:while_preventing_writes)
    ::ActiveRecord::Base.while_preventing_writes { ::ActiveRecord::Base.uncached(&block) }
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
    report(class_name, at, difference) if status == "stale"
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

  def report(class_name, at, difference)
    ActiveSupport::Notifications.instrument("stale_value.tiercel", class: class_name, at:, difference:)
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
    when nil, true, false, Integer then value
    when Float then value.nan? ? :nan : value
    when Symbol then value.name
    when String then String.new(value).b # servers return bytes
    when Time, defined?(ActiveSupport::TimeWithZone) ? ActiveSupport::TimeWithZone : Time then value.to_r.round(6)
    when DateTime then value.to_time.to_r.round(6)
    when Numeric, Date, Range, Module then value
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
    when Struct then [value.class.name, value.to_a.map(&inner)]
    else object(value, inner)
    end
  ensure
    # Records that refer to each other form too many paths, so each counts once.
    seen.delete(value) if entered && value.is_a?(Enumerable)
  end

  def object(value, inner)
    if defined?(::ActiveRecord::Base) && value.is_a?(::ActiveRecord::Base) then record(value, inner)
    elsif value.respond_to?(:to_ary) then value.to_ary.map(&inner) # relations, proxies of associations
    elsif defined?(Data) && value.is_a?(Data) then [value.class.name, inner.call(value.to_h)]
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
