# frozen_string_literal: true

# The backends named by a store's URLs, nearest first. Decides which of them may be a near tier, assigns each option
# to a backend, and builds them. One URL gives one backend; several give {Tiers}.
#
# @private
class Tiercel::Places
  # One backend, before it is built.
  Place = Struct.new(:url, :backend_class, :tier) do
    # @return [Array<Symbol>] option names that its URL may contain
    def option_names = tier ? [*backend_class.option_names, *Tiercel::Options.of(:near)] : backend_class.option_names

    # @return [Hash] `ttl` and `bus` of a near tier
    def near = Tiercel::Options.values(:near, url.options)
  end

  # Schemes of near tiers, nearest first.
  NEAR = { "memory" => 0, "shared" => 1 }.freeze
  # Backends that cannot be the last tier.
  NEVER_LAST = %w[memory null].freeze
  ONE_URL = "Several servers are one URL: \"memcached://HOST:PORT,HOST:PORT\", " \
            "\"redis+cluster://HOST:PORT,HOST:PORT\""
  ON_DISK = %w[sqlite file].freeze
  # Backends that send invalidation messages for the keys of one prefix.
  WITH_PREFIX = /\A(rediss?|unix)\z/
  private_constant :NEAR, :NEVER_LAST, :ONE_URL, :ON_DISK, :WITH_PREFIX

  # @return [Array<Place>]
  attr_reader :all

  # @param urls [Array<String, Symbol>] no URL means "shared:"
  # @raise [ConfigurationError]
  def initialize(urls)
    urls.each { |url| Tiercel::BackendURL.refuse_mistaken(url) }
    urls = ["shared:"] if urls.empty?
    parsed = urls.map { |url| Tiercel::BackendURL.parse(url) }
    check_order(parsed) if parsed.size > 1
    @all = parsed.each_with_index.map do |url, index|
      Place.new(url, Tiercel::Backends::REGISTRY.fetch(url.scheme), index < parsed.size - 1)
    end
  end

  # @return [BackendURL] the URL of the last tier
  def url = all.last.url

  # @return [Array<Symbol>] option names of all backends together
  def option_names = all.flat_map { |place| place.backend_class.option_names }.uniq

  # @param options [Hash{Symbol => Object}] the store's options
  # @raise [ConfigurationError] for an option that several backends support
  def check_owners(options)
    options.each_key do |name|
      owners = all.select { |place| place.backend_class.option_names.include?(name) }
      next if owners.size < 2
      raise Tiercel::ConfigurationError,
        "#{name}: both #{owners.map(&:url).join(" and ")} have this option. Put it into " \
        "the URL of one tier: \"#{owners.first.url}?#{name}=...\""
    end
  end

  # @param options [Hash{Symbol => Object}] the store's options
  # @param memo [Hash] default memo options, for a backend that has a memo
  # @return [Backend]
  def build(options, memo = {})
    kept = all.dup
    memo = { memo: memo_bytes(kept.shift) } if memory_before_shared?(kept)
    *near, last = kept.map { |place| build_place(place, options, memo) }
    near.empty? ? last : stack(near(kept.first, near.first, last, options[:inflate_limit]), last)
  end

  # @return [String] a description without passwords
  def to_s = all.map(&:url).join(" > ")

  private

  # `memory:` in front of `shared:` is the memo of `shared:`: each process keeps decoded values, and a value stays
  # valid as long as the segment has its entry.
  def memory_before_shared?(places) = places.first(2).map { |place| place.url.scheme } == %w[memory shared]

  # @return [Integer] the size that the URL of `memory:` gives
  def memo_bytes(place)
    place.near # refuses invalid ones
    Tiercel::Options.values(:memory, place.url.options)[:size]
  rescue Tiercel::ConfigurationError => error
    raise Tiercel::ConfigurationError, "#{error.message} in #{place.url} in front of shared:"
  end

  def build_place(place, options, memo)
    names = place.backend_class.option_names
    own = options.slice(*names).merge(place.url.options.except(*(Tiercel::Options.of(:near) if place.tier)))
    own = memo.merge(own) if names.include?(:memo)
    own[:behind] = behind(options) if place.tier && place.url.scheme == "shared"
    url, own = Tiercel::TestWorker.place(place.url, own)
    return place.backend_class.build(url, own) if url.equal?(place.url)
    Tiercel::Backends::REGISTRY.fetch(url.scheme).build(url, own)
  end

  # Identifies the backend behind a segment and, over Redis, the key prefix whose messages the segment's listeners
  # receive. A store with another backend behind the same segment must not find these copies. Another spelling of the
  # same place gets a segment of its own.
  def behind(options)
    place = ON_DISK.include?(url.scheme) ? "#{url.scheme}:#{::File.expand_path(url.place)}" : url.to_s
    namespace = options[:namespace] if WITH_PREFIX.match?(url.scheme) && !options[:namespace].respond_to?(:call)
    [place, url.options[:db] || options[:db], namespace].compact.join(" ")
  end

  # Other machines do not read the keys of parallel test processes, so no bus is needed.
  def bus?(last)
    said = all.select(&:tier).filter_map { |place| [place.near[:bus]] unless place.near[:bus].nil? }.flatten
    return said.all? && !Tiercel::TestWorker.number if last.subscribable?
    return false unless said.include?(true)
    raise Tiercel::ConfigurationError, "bus: #{last} sends no invalidation messages. Remove bus=true"
  end

  # Over SQLite the file itself shows whether other programs change it.
  def watched?(near, last)
    last.respond_to?(:others_since?) && !near.segment.path.nil? && all.none? { |place| place.near[:bus] == false }
  end

  def near(place, backend, last, inflate_limit)
    bus = bus?(last) || watched?(backend, last)
    Tiercel::Tiers::Near.new(backend, ttl: place.near[:ttl], bus:, inflate_limit:)
  end

  def stack(near, last)
    near.bus = Tiercel::Tiers::Bus.new(last, near) if bus?(last)
    near.bus = Tiercel::Tiers::Watch.new(last, near) if watched?(near.backend, last)
    Tiercel::Tiers.new(near, last)
  end

  def check_order(urls)
    *near, last = urls
    far = near.find { |url| !NEAR.key?(url.scheme) }
    if far
      raise Tiercel::ConfigurationError,
        "#{far} in front of #{urls[urls.index(far) + 1]}: only memory: and shared: can " \
        "be a near tier. List the tiers nearest first. #{ONE_URL}"
    end
    if NEVER_LAST.include?(last.scheme)
      raise Tiercel::ConfigurationError,
        "#{last} as the last of #{urls.size} tiers: the last tier has all entries, so " \
        "choose one that all processes share"
    end
    wrong = urls.each_cons(2).find { |one, other| (NEAR[other.scheme] || 2) <= NEAR[one.scheme] } or return
    raise Tiercel::ConfigurationError,
      "#{wrong.join(" in front of ")}: expected memory: (one process) before shared: " \
      "(one machine), each at most once, and the last tier after them"
  end
end
