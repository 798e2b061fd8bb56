# frozen_string_literal: true

# Examines the cache stores of an application, in the process that uses them. Does the store answer, is its size
# bounded, do all processes that need it share it? `bin/rails cache:doctor` prints the results; docs/insight.md lists
# the checks.
#
#   report = Tiercel::Insight::Doctor.new({ "Rails.cache" => Rails.cache }).examine
#   puts report.to_text
#   exit report.exit_code
class Tiercel::Insight::Doctor
  # One result of one check.
  #
  # @!attribute status [Symbol] :sound, :finding (with a fix), or :unknown (the check could not run)
  # @!attribute check [String] the name of the check, such as "redis"
  # @!attribute subject [String] the name of the store
  # @!attribute text [String] the observation
  # @!attribute fix [String, nil] the remedy
  Finding = Struct.new(:status, :check, :subject, :text, :fix, keyword_init: true) do
    # @return [Boolean]
    def finding? = status == :finding
  end

  # The findings of an examination as text, as data, and as an exit code for deploy scripts.
  class Report
    MARKS = { sound: "ok      ", finding: "FINDING ", unknown: "unknown " }.freeze

    # @return [Array<Finding>]
    attr_reader :findings

    # @param findings [Array<Finding>]
    def initialize(findings)
      @findings = findings
    end

    # @return [Boolean] whether there are no findings
    def sound? = findings.none?(&:finding?)

    # @return [Integer] 0 without findings, otherwise 1
    def exit_code = sound? ? 0 : 1

    # @return [Hash] the report in a form for JSON
    def to_h
      printed = findings.map { |one| one.to_h.transform_values { |value| Tiercel::Insight::Text.printable(value) } }
      { sound: sound?, findings: printed }
    end

    # @return [String] the findings with their fixes first
    def to_text
      order = %i[finding unknown sound]
      lines = findings.sort_by.with_index { |one, at| [order.index(one.status), at] }.flat_map { |one| lines_of(one) }
      "#{[*lines, "", summary].join("\n")}\n"
    end

    private

    def lines_of(finding)
      text = Tiercel::Insight::Text.printable(finding.text)
      lines = ["#{MARKS.fetch(finding.status)}#{finding.subject}, #{finding.check}: #{text}"]
      lines << "         -> #{Tiercel::Insight::Text.printable(finding.fix)}" if finding.fix
      lines
    end

    def summary
      counts = findings.group_by(&:status).transform_values(&:size)
      found, unknown = counts[:finding].to_i, counts[:unknown].to_i
      parts = [found.zero? ? "Nothing found" : counted(found, "finding")]
      parts << "#{counted(unknown, "check")} could not run" if unknown.positive?
      "#{parts.join(", ")}."
    end

    def counted(count, noun) = "#{count} #{noun}#{"s" unless count == 1}"
  end

  # Rails' own stores by class name, so that none of them has to be loaded.
  KINDS = {
    "ActiveSupport::Cache::MemoryStore" => :memory_store, "ActiveSupport::Cache::FileStore" => :file_store,
    "ActiveSupport::Cache::NullStore" => :null_store, "ActiveSupport::Cache::MemCacheStore" => :mem_cache_store,
    "ActiveSupport::Cache::RedisCacheStore" => :redis_cache_store,
    "ActiveSupport::Cache::DeprecatedRedisCacheStore" => :redis_cache_store, # Rails 8.2 with `redis:`
    "SolidCache::Store" => :solid_cache_store, "ActiveSupport::Cache::Litecache" => :litecache,
    "ActiveSupport::Cache::TiercelStore" => :tiercel_store
  }.freeze

  # An examined store and its parts.
  #
  # @!attribute name [String] for example "Rails.cache"
  # @!attribute store [ActiveSupport::Cache::Store]
  Subject = Struct.new(:name, :store) do
    # @return [Hash{String => ActiveSupport::Cache::Store}] the stores of the Rails application, each one once
    def self.of_application
      stores = { "Rails.cache" => Rails.cache }
      stores["fragment cache"] = ActionController::Base.cache_store if defined?(ActionController::Base)
      in_cache = Rails.application.config.session_store.to_s == "ActionDispatch::Session::CacheStore"
      stores["session cache"] = Rails.application.config.session_options[:cache] if in_cache
      stores.compact.uniq { |_, store| store.object_id }.to_h
    end

    # @return [Symbol, nil] one of {KINDS}; nil for another gem's store
    def kind = @kind ||= store.class.ancestors.lazy.filter_map { |ancestor| KINDS[ancestor.name] }.first

    # @return [Boolean]
    def tiercel? = kind == :tiercel_store

    # @return [Array<Backend>] the tiers of a Tiercel store, nearest first; empty for other stores
    def tiers = tiercel? ? store.backend.tiers : []

    # @return [Backend, nil] the last tier of a Tiercel store
    def last = tiers.last

    # @param class_name [String] a backend's class name without its modules
    # @return [Boolean] whether the last tier has this class
    def over?(class_name) = tiers.any? && last.class.name == "Tiercel::Backends::#{class_name}"

    # @return [Boolean] whether each process has a separate cache
    def of_each_process? = kind == :memory_store || over?("Memory") || over?("MemorySegment")

    # @return [String] a short description of the store, without passwords
    def to_s = tiercel? ? store.backend.to_s : store.class.name
  end

  require_relative "doctor/deployment"
  require_relative "doctor/checks"

  CHECKS = [Checks::Answers, Checks::Redis, Checks::Memcached, Checks::Reach, Checks::Segments, Checks::Bounds,
            Checks::Wire, Checks::Values].freeze

  # @return [Doctor] for the stores of the current Rails application: Rails.cache, and the stores of controllers and
  #   sessions if they differ
  def self.of_application = new(Subject.of_application, deployment: Deployment.of_application)

  # @param stores [Hash{String => ActiveSupport::Cache::Store}] stores by their name in the report
  # @param deployment [Deployment] the deployment that the application runs in
  def initialize(stores, deployment: Deployment.new)
    @subjects = stores.map { |name, store| Subject.new(name, store) }
    @deployment = deployment
  end

  # Contacts the servers. Writes one key under "tiercel:doctor:" to each store and deletes it again.
  #
  # @return [Report]
  def examine
    Report.new(@subjects.product(CHECKS).flat_map { |subject, check| check.new(subject, @deployment).findings })
  end
end
