# frozen_string_literal: true

# The rules for keys and versions of names, in Ruby. The tests compare the C form in ext/tiercel/codec/keys.c with
# them.
module NamesInRuby
  # Rails handles Arrays with deeper nesting.
  MAX_DEPTH = 20
  private_constant :MAX_DEPTH

  class << self
    # @param name [Object]
    # @param namespace [String, nil]
    # @param max_bytes [Integer, false, nil]
    # @return [String, nil] nil for a name that only Rails can normalize
    def key(name, namespace, max_bytes)
      expanded = expand(name, 0)
      return if expanded.nil? || expanded.empty?
      if namespace
        return unless text?(namespace)
        expanded = "#{namespace}:#{expanded}"
      end
      expanded if !max_bytes || expanded.bytesize <= max_bytes
    end

    # @param names [Array<Object>]
    # @return [Array<String>, nil] `names` itself if the names are already their keys
    def keys(names, namespace, max_bytes)
      keys = names.map { |name| key(name, namespace, max_bytes) or return }
      keys.each_with_index.all? { |key, index| key.equal?(names[index]) } ? names : keys
    end

    # @param keys [Array<String>]
    # @return [Array<String>]
    def frozen(keys) = keys.all?(&:frozen?) ? keys : keys.map { |key| key.frozen? ? key : key.dup.freeze }

    # @param found [Hash{String => Object}]
    # @param names [Array<Object>]
    # @param keys [Array<String>] keys for the names
    # @return [Hash{Object => Object}] the found values by name, in the order of the names
    def by_name(found, names, keys)
      results = {}
      keys.each_with_index { |key, index| results[names[index]] = found[key] if found.key?(key) }
      results
    end

    # @return [String, nil, false] an Array always has a version, which may be empty, as in Rails; false if only Rails
    #   can compute the version
    def version(name, depth = 0)
      return if name.instance_of?(Symbol) || plain?(name, String)
      plain?(name, Array) ? array_version(name, depth) : own_version(name)
    end

    # @return [Array<String, nil>, nil, false] nil if all names are Strings, because a String has no version
    def versions(names)
      return if names.all? { |name| plain?(name, String) }
      versions = names.map { |name| version(name) }
      versions.include?(false) ? false : versions
    end

    private

    # Whether the name's class is exactly `type`, and neither the name nor its class was given a cache_key or a
    # cache_version.
    def plain?(name, type)
      name.instance_of?(type) && !name.respond_to?(:cache_key) && !name.respond_to?(:cache_version)
    end

    # Rails reads the bytes of other encodings as UTF-8.
    def text?(string) = string.encoding == Encoding::UTF_8 || string.ascii_only?

    # Returns nil for a name that only Rails can expand.
    def expand(name, depth)
      return if depth > MAX_DEPTH
      expanded =
        if name.instance_of?(Symbol) then name.name
        elsif plain?(name, String) then name
        elsif plain?(name, Array) then return expand_array(name, depth)
        elsif name.instance_of?(String) || name.instance_of?(Array) then return
        elsif name.respond_to?(:cache_key) then name.cache_key.to_s
        else param(name, depth)
        end
      expanded if expanded && text?(expanded)
    end

    # Accepts an object of a kind that Rails does not expand itself. true and false can be parts of a key, but not a
    # key.
    def param(name, depth)
      case name
      when String, Array, Hash then return
      end
      return unless name.respond_to?(:to_param)
      param = name.to_param
      case param
      when nil then ""
      when true, false then param.to_s if depth.positive? && param.equal?(name)
      else param if param.instance_of?(String)
      end
    end

    def expand_array(names, depth)
      return if names.size == 1 && [true, false].include?(names.first)
      names.map { |name| expand(name, depth + 1) or return }.join("/")
    end

    # Rails treats nil like an empty Array.
    def own_version(name)
      unless name.respond_to?(:cache_version)
        return [].join if name.nil? # US-ASCII, as in Rails
        return name.respond_to?(:to_a) ? false : nil
      end
      version = name.cache_version
      version.nil? || version.instance_of?(String) ? version : version.to_param
    end

    def array_version(names, depth)
      return false if depth > MAX_DEPTH
      versions = names.filter_map do |name|
        version = version(name, depth + 1)
        return false unless version.nil? || version.is_a?(String)
        version
      end
      versions.size == 1 ? versions.first : versions.join("/")
    end
  end
end
