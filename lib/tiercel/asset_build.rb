# frozen_string_literal: true

# Detects a boot with SECRET_KEY_BASE_DUMMY, which Rails' Dockerfile sets for `assets:precompile`. Production's
# environment variables are missing during that build, so a URL built from one of them is nil, empty or has no
# server.
#
# @private
module Tiercel::AssetBuild
  # Matches a URL without its servers: "memcached://", from "memcached://#{ENV["SERVERS"]}".
  WITHOUT_SERVER = %r{\A(?:memcached|rediss?\+cluster):/*\z}
  private_constant :WITHOUT_SERVER

  # @return [Boolean]
  def self.running? = !ENV["SECRET_KEY_BASE_DUMMY"].to_s.empty?

  # @param urls [Array]
  # @param options [Hash{Symbol => Object}]
  # @param names [Array<Symbol>] the options that every store accepts
  # @return [Array(Array, Hash)] "memory:" and the common options if the build has no URL; otherwise the arguments
  #   unchanged
  def self.stand_in(urls, options, names)
    return [urls, options] unless running? && urls.any? { |url| missing?(url) }
    [["memory:"], options.slice(*names)]
  end

  def self.missing?(url) = url.nil? || url == "" || (url.is_a?(String) && url.match?(WITHOUT_SERVER))
  private_class_method :missing?
end
