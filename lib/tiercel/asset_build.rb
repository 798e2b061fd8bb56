# frozen_string_literal: true

module Tiercel
  # A boot with SECRET_KEY_BASE_DUMMY, as Rails' Dockerfile boots for `assets:precompile`: the variables of production
  # are missing there, so a URL that comes from one of them is nil, empty or without its server.
  #
  # @private
  module AssetBuild
    # A URL of servers without a server: "memcached://", from "memcached://#{ENV["SERVERS"]}".
    WITHOUT_SERVER = %r{\A(?:memcached|rediss?\+cluster):/*\z}
    private_constant :WITHOUT_SERVER

    # @return [Boolean]
    def self.running? = !ENV["SECRET_KEY_BASE_DUMMY"].to_s.empty?

    # @param urls [Array]
    # @param options [Hash{Symbol => Object}]
    # @param names [Array<Symbol>] of the options that every store knows
    # @return [Array(Array, Hash)] "memory:" and the options of every store where the build has no URL; otherwise what
    #   it was given
    def self.stand_in(urls, options, names)
      return [urls, options] unless running? && urls.any? { |url| missing?(url) }
      [["memory:"], options.slice(*names)]
    end

    def self.missing?(url) = url.nil? || url == "" || (url.is_a?(String) && url.match?(WITHOUT_SERVER))
    private_class_method :missing?
  end
end
